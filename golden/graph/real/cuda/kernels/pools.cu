// Pools of floats: an output a thread, neighbouring threads on neighbouring channels.
#include "golden/graph/real/cuda/kernels/float_arithmetic.cuh"

namespace qsim::golden::cuda {
namespace {

// Calls visit(x) for each value inside the picture under the window of output `i`, in the order ky,
// kx.
template <typename Visit>
__device__ inline void visit_window(const Pool& p, std::int64_t i, Visit visit) {
  const std::int64_t pixel = i / p.out.channels;
  const std::int64_t c = i - pixel * p.out.channels;
  const std::int64_t ox = pixel % p.out.width;
  const std::int64_t oy = pixel / p.out.width % p.out.height;
  const std::int64_t n = pixel / p.out.width / p.out.height;
  for (std::int64_t ky = 0; ky < p.window.kernel_h; ++ky) {
    const std::int64_t y = oy * p.window.stride_h + ky * p.window.dilation_h - p.window.pad_top;
    if (y < 0 || y >= p.in.height) continue;
    for (std::int64_t kx = 0; kx < p.window.kernel_w; ++kx) {
      const std::int64_t x = ox * p.window.stride_w + kx * p.window.dilation_w - p.window.pad_left;
      if (x < 0 || x >= p.in.width) continue;
      visit(p.input[((n * p.in.height + y) * p.in.width + x) * p.in.channels + c]);
    }
  }
}

__device__ inline std::int64_t count_of(const Pool& p) {
  return p.out.batch * p.out.height * p.out.width * p.out.channels;
}

__global__ void __launch_bounds__(kThreads) max_pool_kernel(const __grid_constant__ Pool p) {
  begin_kernel();
  for (std::int64_t i = grid_thread(); i < count_of(p); i += grid_threads()) {
    float best = -__uint_as_float(kFp32Infinity);
    visit_window(p, i, [&](float x) {
      if (x > best || x != x) best = x;  // of equal ones the first; NaN stays
    });
    p.output[i] = canonical(best);
  }
}

__global__ void __launch_bounds__(kThreads) average_pool_kernel(const __grid_constant__ Pool p) {
  begin_kernel();
  for (std::int64_t i = grid_thread(); i < count_of(p); i += grid_threads()) {
    float sum = 0;
    visit_window(p, i, [&](float x) { sum = __fadd_rn(sum, x); });
    const std::int64_t place = i / p.out.channels % (p.out.height * p.out.width);
    p.output[i] = canonical(__fdiv_rn(sum, p.counts[place]));
  }
}

std::int64_t blocks_of(const Pool& p) {
  return grid_stride_blocks(p.out.batch * p.out.height * p.out.width * p.out.channels, kThreads);
}

}  // namespace

void launch_max_pool(const Pool& pool, cudaStream_t stream) {
  launch_kernel("launching max_pool", max_pool_kernel, blocks_of(pool), kThreads, 0, stream, pool);
}

void launch_average_pool(const Pool& pool, cudaStream_t stream) {
  launch_kernel("launching average_pool", average_pool_kernel, blocks_of(pool), kThreads, 0, stream,
                pool);
}

}  // namespace qsim::golden::cuda
