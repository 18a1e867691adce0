// Max-pooling: positions outside the picture are absent. Sixteen channels a thread where they fit,
// one output byte a thread otherwise.
#include <algorithm>
#include <string>

#include "golden/device/fast_divisor.h"
#include "golden/device/launch.cuh"
#include "golden/graph/cuda/tasks.h"

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
    const std::int64_t y =
        oy * pool.window.stride_h + ky * pool.window.dilation_h - pool.window.pad_top;
    if (y < 0 || y >= pool.in.height) continue;
    for (std::int64_t kx = 0; kx < pool.window.kernel_w; ++kx) {
      const std::int64_t x =
          ox * pool.window.stride_w + kx * pool.window.dilation_w - pool.window.pad_left;
      if (x < 0 || x >= pool.in.width) continue;
      const std::int64_t at = ((n * pool.in.height + y) * pool.in.width + x) * pool.in.channels + c;
      result = max(result, activation(pool.input[at], pool.is_unsigned));
    }
  }
  return result;
}

__global__ void __launch_bounds__(kThreads) max_pool_kernel(const Pool pool) {
  begin_kernel();
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
  begin_kernel();
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

// Any window; a thread has 16 channels of one output. Indices fit 31 bits, in vectors.
template <bool kUnsigned>
__global__ void __launch_bounds__(kThreads)
    max_pool_vector_kernel(const __grid_constant__ Pool pool, const FastDivisor vectors,
                           const FastDivisor width, const FastDivisor height, int count) {
  begin_kernel();
  const Window& w = pool.window;
  const auto* input = reinterpret_cast<const uint4*>(pool.input);
  const int in_height = static_cast<int>(pool.in.height);
  const int in_width = static_cast<int>(pool.in.width);
  constexpr unsigned kLeast = kUnsigned ? 0U : 0x80808080U;
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    const int pixel = vectors.divide(static_cast<int>(i));
    const int c = static_cast<int>(i) - pixel * vectors.divisor();
    const int row = width.divide(pixel);
    const int n = height.divide(row);
    const int first_x = (pixel - row * width.divisor()) * static_cast<int>(w.stride_w) -
                        static_cast<int>(w.pad_left);
    const int first_y =
        (row - n * height.divisor()) * static_cast<int>(w.stride_h) - static_cast<int>(w.pad_top);
    uint4 largest = {kLeast, kLeast, kLeast, kLeast};
    for (int ky = 0; ky < w.kernel_h; ++ky) {
      const int y = first_y + ky * static_cast<int>(w.dilation_h);
      if (y < 0 || y >= in_height) continue;
      for (int kx = 0; kx < w.kernel_w; ++kx) {
        const int x = first_x + kx * static_cast<int>(w.dilation_w);
        if (x < 0 || x >= in_width) continue;
        largest = largest_bytes<kUnsigned>(
            largest, input[((n * in_height + y) * in_width + x) * vectors.divisor() + c]);
      }
    }
    reinterpret_cast<uint4*>(pool.output)[i] = largest;
  }
}

// Whether max_pool_vector_kernel's integers hold all positions.
bool is_vector(const Pool& pool) {
  constexpr std::int64_t kMost = 1 << 30;
  const auto vectors = [](const ImageShape& s) {
    return s.batch * s.height * s.width * s.channels / kVectorBytes;
  };
  const Window& w = pool.window;
  return pool.in.channels % kVectorBytes == 0 && vectors(pool.in) < kMost &&
         vectors(pool.out) < kMost &&
         std::max({w.extent_h(), w.extent_w(), pool.out.height * w.stride_h,
                   pool.out.width * w.stride_w}) < kMost / 2;
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
        pairs_(is_vector_2x2(pool_)),
        vector_(is_vector(pool_)) {}

  void launch(cudaStream_t stream) const override {
    const ImageShape& out = pool_.out;
    const std::int64_t bytes = out.batch * out.height * out.width * out.channels;
    if (!pairs_ && !vector_) {
      launch_kernel("launching max_pool", max_pool_kernel, grid_stride_blocks(bytes, kThreads),
                    kThreads, 0, stream, pool_);
      return;
    }
    if (!pairs_) return launch_vector(stream, static_cast<int>(bytes / kVectorBytes));
    launch_kernel("launching max_pool 2x2",
                  pool_.is_unsigned ? max_pool_2x2_kernel<true> : max_pool_2x2_kernel<false>,
                  grid_stride_blocks(bytes / kVectorBytes, kThreads), kThreads, 0, stream,
                  reinterpret_cast<const uint4*>(pool_.input),
                  reinterpret_cast<uint4*>(pool_.output), out.batch * out.height, out.width,
                  out.channels / kVectorBytes);
  }

  std::string name() const override {
    return pairs_ ? "max_pool 2x2" : vector_ ? "max_pool vector" : "max_pool";
  }

 private:
  void launch_vector(cudaStream_t stream, int count) const {
    const auto divisor = [](std::int64_t n) { return FastDivisor(static_cast<std::int32_t>(n)); };
    launch_kernel("launching max_pool vector",
                  pool_.is_unsigned ? max_pool_vector_kernel<true> : max_pool_vector_kernel<false>,
                  grid_stride_blocks(count, kThreads), kThreads, 0, stream, pool_,
                  divisor(pool_.in.channels / kVectorBytes), divisor(pool_.out.width),
                  divisor(pool_.out.height), count);
  }

  Pool pool_;
  bool pairs_;
  bool vector_;
};

}  // namespace

std::unique_ptr<Kernel> make_max_pool(const MaxPoolTask& task) {
  return std::make_unique<MaxPoolKernel>(task);
}

}  // namespace qsim::golden::cuda
