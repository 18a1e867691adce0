// Sums of products with an output a thread, neighbouring threads on neighbouring channels: groups
// of few outputs (depthwise convolutions), and layers with an integer input.
#include "golden/graph/real/cuda/kernels/float_arithmetic.cuh"

namespace qsim::golden::cuda {
namespace {

// Calls visit(k, x) for each product of an output, in its order; x is +0 outside the picture.
template <typename Visit>
__device__ inline void visit_products(const Products& p, const Corner& corner, Visit visit) {
  for (std::int64_t k = 0; k < p.depth; ++k) {
    const ProductTap tap = p.taps[k];
    visit(k, is_inside(p, corner, tap) ? p.input[corner.element + tap.offset] : 0.0F);
  }
}

__global__ void __launch_bounds__(kThreads)
    direct_products_kernel(const __grid_constant__ Products p) {
  begin_kernel();
  const std::int64_t count = p.out.batch * p.out.height * p.out.width * p.out.channels;
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    const std::int64_t pixel = i / p.out.channels;
    const std::int64_t channel = i - pixel * p.out.channels;
    const Corner corner = corner_of(p, pixel, channel / p.outputs);
    float total = start(p, channel);
    float sum = 0;
    int left = kChunkProducts;  // of this chunk
    visit_products(p, corner, [&](std::int64_t k, float x) {
      sum = __fmaf_rn(x, p.weights[k * p.out.channels + channel], sum);
      if (--left > 0) return;
      total = __fadd_rn(total, sum);
      sum = 0;
      left = kChunkProducts;
    });
    if (left < kChunkProducts) total = __fadd_rn(total, sum);
    p.output[i] = finished(p, channel, total);
  }
}

__global__ void __launch_bounds__(kThreads)
    integer_products_kernel(const __grid_constant__ IntegerProducts integer) {
  begin_kernel();
  const Products& p = integer.products;
  const std::int64_t places = p.out.height * p.out.width;
  const std::int64_t count = p.out.batch * places * p.out.channels;
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    const std::int64_t pixel = i / p.out.channels;
    const std::int64_t channel = i - pixel * p.out.channels;
    const Corner corner = corner_of(p, pixel, channel / p.outputs);
    std::int64_t sum = 0;
    visit_products(p, corner, [&](std::int64_t k, float level) {
      sum += static_cast<std::int64_t>(level) * integer.factors[k * p.out.channels + channel];
    });
    const LevelRule& rule = integer.rules[integer.is_per_picture ? pixel / places : 0];
    const float scale = __fmul_rn(rule.scale, p.scales[channel]);
    const float scaled = __fmul_rn(__ll2float_rn(sum), scale);
    p.output[i] = canonical(__fadd_rn(scaled, p.bias[channel]));
  }
}

std::int64_t blocks_of(const Products& p) {
  return grid_stride_blocks(p.out.batch * p.out.height * p.out.width * p.out.channels, kThreads);
}

}  // namespace

void launch_direct_products(const Products& p, cudaStream_t stream) {
  launch_kernel("launching direct_products", direct_products_kernel, blocks_of(p), kThreads, 0,
                stream, p);
}

void launch_integer_products(const IntegerProducts& p, cudaStream_t stream) {
  launch_kernel("launching integer_products", integer_products_kernel, blocks_of(p.products),
                kThreads, 0, stream, p);
}

}  // namespace qsim::golden::cuda
