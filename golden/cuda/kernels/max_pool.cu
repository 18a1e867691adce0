// Max-pooling: positions outside the picture are absent. 2x2 with stride 2 on 16 channels a thread
// where it fits, one output byte a thread otherwise.
#include <string>

#include "golden/cuda/kernels/launch.cuh"
#include "golden/cuda/tasks.h"

namespace qsim::golden::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kVectorBytes = 16;

struct Pool {
  const std::uint8_t* input;
  std::uint8_t* output;
  ImageShape in;
  ImageShape out;
  Window window;
  bool is_unsigned;
};

__device__ std::int32_t largest(const Pool& pool, std::int64_t n, std::int64_t oy, std::int64_t ox,
                                std::int64_t c) {
  std::int32_t result = pool.is_unsigned ? 0 : -128;
  for (std::int64_t ky = 0; ky < pool.window.kernel_h; ++ky) {
    const std::int64_t y = oy * pool.window.stride_h + ky - pool.window.pad_top;
    if (y < 0 || y >= pool.in.height) continue;
    for (std::int64_t kx = 0; kx < pool.window.kernel_w; ++kx) {
      const std::int64_t x = ox * pool.window.stride_w + kx - pool.window.pad_left;
      if (x < 0 || x >= pool.in.width) continue;
      const std::int64_t at = ((n * pool.in.height + y) * pool.in.width + x) * pool.in.channels + c;
      result = max(result, activation(pool.input[at], pool.is_unsigned));
    }
  }
  return result;
}

__global__ void __launch_bounds__(kThreads) max_pool_kernel(const Pool pool) {
  const std::int64_t count = pool.out.batch * pool.out.height * pool.out.width * pool.out.channels;
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    const std::int64_t c = i % pool.out.channels;
    const std::int64_t pixel = i / pool.out.channels;
    const std::int64_t ox = pixel % pool.out.width;
    const std::int64_t oy = pixel / pool.out.width % pool.out.height;
    const std::int64_t n = pixel / pool.out.width / pool.out.height;
    pool.output[i] = static_cast<std::uint8_t>(largest(pool, n, oy, ox, c));
  }
}

template <bool kUnsigned>
__device__ unsigned largest_bytes(unsigned a, unsigned b) {
  return kUnsigned ? __vmaxu4(a, b) : __vmaxs4(a, b);
}

template <bool kUnsigned>
__device__ uint4 largest_bytes(uint4 a, uint4 b) {
  return {largest_bytes<kUnsigned>(a.x, b.x), largest_bytes<kUnsigned>(a.y, b.y),
          largest_bytes<kUnsigned>(a.z, b.z), largest_bytes<kUnsigned>(a.w, b.w)};
}

// `rows` is batch * output height: with an even height, row r of the output reads rows 2r and
// 2r + 1 of the input, whatever the picture. Sizes count vectors of 16 channels.
template <bool kUnsigned>
__global__ void __launch_bounds__(kThreads)
    max_pool_2x2_kernel(const uint4* input, uint4* output, std::int64_t rows, std::int64_t width,
                        std::int64_t vectors) {
  const std::int64_t count = rows * width * vectors;
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    const std::int64_t c = i % vectors;
    const std::int64_t pixel = i / vectors;
    const std::int64_t x = pixel % width;
    const std::int64_t row = pixel / width;
    const uint4* upper = input + (row * 4 * width + x * 2) * vectors + c;
    const uint4* lower = upper + width * 2 * vectors;
    output[i] = largest_bytes<kUnsigned>(largest_bytes<kUnsigned>(upper[0], upper[vectors]),
                                         largest_bytes<kUnsigned>(lower[0], lower[vectors]));
  }
}

bool is_vector_2x2(const Pool& pool) {
  return pool.window == Window{2, 2, 2, 2} && pool.in.height % 2 == 0 && pool.in.width % 2 == 0 &&
         pool.in.channels % kVectorBytes == 0;
}

class MaxPoolKernel : public Kernel {
 public:
  explicit MaxPoolKernel(const MaxPoolTask& task)
      : pool_{task.input_data,   task.output_data, task.input.shape,
              task.output.shape, task.window,      task.input.is_unsigned()},
        vector_(is_vector_2x2(pool_)) {}

  void launch(cudaStream_t stream) const override {
    const ImageShape& out = pool_.out;
    const std::int64_t bytes = out.batch * out.height * out.width * out.channels;
    if (!vector_) {
      launch_kernel("launching max_pool", max_pool_kernel, grid_stride_blocks(bytes, kThreads),
                    kThreads, 0, stream, pool_);
      return;
    }
    launch_kernel("launching max_pool 2x2",
                  pool_.is_unsigned ? max_pool_2x2_kernel<true> : max_pool_2x2_kernel<false>,
                  grid_stride_blocks(bytes / kVectorBytes, kThreads), kThreads, 0, stream,
                  reinterpret_cast<const uint4*>(pool_.input),
                  reinterpret_cast<uint4*>(pool_.output), out.batch * out.height, out.width,
                  out.channels / kVectorBytes);
  }

  std::string name() const override { return vector_ ? "max_pool 2x2" : "max_pool"; }

 private:
  Pool pool_;
  bool vector_;
};

}  // namespace

std::unique_ptr<Kernel> make_max_pool(const MaxPoolTask& task) {
  return std::make_unique<MaxPoolKernel>(task);
}

}  // namespace qsim::golden::cuda
