// Average-pooling: sums of activations under the window, requantized; four channels a thread where
// they fit. The warps of a block share a large window.
#include <map>
#include <string>

#include "core/network/layer_arithmetic.h"
#include "golden/device/launch.cuh"
#include "golden/graph/cuda/kernels/finish.cuh"
#include "golden/graph/cuda/tasks.h"

namespace qsim::golden::cuda {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kLargeWindow = 16;  // positions

struct Average {
  const std::uint8_t* input;
  std::uint8_t* output;
  const float* scales;  // [out.height][out.width]: real_scale() of the requantizer there
  ImageShape in;
  ImageShape out;
  Window window;
  std::int32_t in_zero_point;
  std::int32_t zero_point, lo, hi;
  RequantizerRounding rounding;
  bool in_is_unsigned;
};

// Adds the activations of kChannels channels of a pixel to `sums`, which wrap as the contract says.
template <int kChannels>
__device__ inline void add_pixel(const Average& pool, const std::uint8_t* pixel,
                                 std::uint32_t (&sums)[kChannels]) {
  std::uint32_t word;
  if constexpr (kChannels == 4) {
    word = *reinterpret_cast<const std::uint32_t*>(pixel);
  } else {
    word = *pixel;
  }
#pragma unroll
  for (int i = 0; i < kChannels; ++i) {
    const auto byte = static_cast<std::uint8_t>(word >> (8 * i));
    sums[i] +=
        static_cast<std::uint32_t>(activation(byte, pool.in_is_unsigned) - pool.in_zero_point);
  }
}

// Every step-th position inside the picture of the window of output (n, place), from `first` on.
template <int kChannels>
__device__ void add_up(const Average& pool, std::int64_t n, std::int64_t place, std::int64_t c,
                       int first, int step, std::uint32_t (&sums)[kChannels]) {
  const Window& w = pool.window;
  const std::int64_t top = place / pool.out.width * w.stride_h - w.pad_top;
  const std::int64_t left = place % pool.out.width * w.stride_w - w.pad_left;
  const std::int64_t first_y = max(top, std::int64_t{0});
  const std::int64_t first_x = max(left, std::int64_t{0});
  const std::int64_t rows = min(top + w.kernel_h, pool.in.height) - first_y;
  const std::int64_t columns = min(left + w.kernel_w, pool.in.width) - first_x;
  const std::uint8_t* corner =
      pool.input + ((n * pool.in.height + first_y) * pool.in.width + first_x) * pool.in.channels +
      c;
  const auto count = static_cast<int>(max(rows, std::int64_t{0}) * max(columns, std::int64_t{0}));
#pragma unroll 4
  for (int i = first; i < count; i += step) {
    const int y = i / static_cast<int>(columns);
    const int x = i - y * static_cast<int>(columns);
    add_pixel<kChannels>(pool, corner + (y * pool.in.width + x) * pool.in.channels, sums);
  }
}

// The bytes of the averages, the first channel lowest.
template <int kChannels>
__device__ std::uint32_t finish_average(const Average& pool, std::int64_t place,
                                        const std::uint32_t (&sums)[kChannels]) {
  const Requantizer requantizer = requantizer_of_real(pool.scales[place], pool.rounding);
  std::uint32_t bytes = 0;
#pragma unroll
  for (int k = 0; k < kChannels; ++k) {
    const std::int32_t value = requantize(static_cast<std::int32_t>(sums[k]), 0, requantizer,
                                          pool.zero_point, pool.lo, pool.hi);
    bytes |= (static_cast<std::uint32_t>(value) & 0xff) << (8 * k);
  }
  return bytes;
}

template <int kChannels>
__global__ void __launch_bounds__(kThreads)
    average_pool_kernel(const __grid_constant__ Average pool) {
  begin_kernel();
  const std::int64_t vectors = pool.out.channels / kChannels;
  const std::int64_t places = pool.out.height * pool.out.width;
  const std::int64_t count = pool.out.batch * places * vectors;
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    const std::int64_t pixel = i / vectors;
    const std::int64_t c = (i - pixel * vectors) * kChannels;
    std::uint32_t sums[kChannels] = {};
    add_up<kChannels>(pool, pixel / places, pixel % places, c, 0, 1, sums);
    const std::uint32_t bytes = finish_average<kChannels>(pool, pixel % places, sums);
    if constexpr (kChannels == 4) {
      reinterpret_cast<std::uint32_t*>(pool.output)[i] = bytes;
    } else {
      pool.output[i] = static_cast<std::uint8_t>(bytes);
    }
  }
}

// A block has 32 words of an output pixel; each of its warps adds up a part of the window.
__global__ void __launch_bounds__(kThreads)
    average_pool_large_kernel(const __grid_constant__ Average pool) {
  constexpr int kWarps = kThreads / 32;
  __shared__ std::uint32_t partial[kWarps][4][32];
  begin_kernel();
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const std::int64_t words = pool.out.channels / 4;
  const std::int64_t chunks = (words + 31) / 32;
  const std::int64_t places = pool.out.height * pool.out.width;
  for (std::int64_t t = blockIdx.x; t < pool.out.batch * places * chunks; t += gridDim.x) {
    const std::int64_t pixel = t / chunks;
    const std::int64_t word = (t - pixel * chunks) * 32 + lane;
    std::uint32_t sums[4] = {};
    if (word < words) {
      add_up<4>(pool, pixel / places, pixel % places, word * 4, warp, kWarps, sums);
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) partial[warp][k][lane] = sums[k];
    __syncthreads();
    if (warp == 0 && word < words) {
      for (int from = 1; from < kWarps; ++from) {
#pragma unroll
        for (int k = 0; k < 4; ++k) sums[k] += partial[from][k][lane];
      }
      reinterpret_cast<std::uint32_t*>(pool.output)[pixel * words + word] =
          finish_average<4>(pool, pixel % places, sums);
    }
    __syncthreads();
  }
}

// By output position, the scale of the average over the window there.
std::vector<float> scales_of(const AveragePoolTask& task) {
  const ImageShape& out = task.output.shape;
  std::map<std::int64_t, float> by_count;
  std::vector<float> scales;
  for (std::int64_t oy = 0; oy < out.height; ++oy) {
    for (std::int64_t ox = 0; ox < out.width; ++ox) {
      const std::int64_t count = average_count(task.pool, task.input.shape, oy, ox);
      auto [found, is_new] = by_count.try_emplace(count, 0.0F);
      if (is_new) {
        found->second =
            real_scale(average_requantizer(task.pool, task.input, task.output, count).value());
      }
      scales.push_back(found->second);
    }
  }
  return scales;
}

class AveragePoolKernel : public Kernel {
 public:
  explicit AveragePoolKernel(const AveragePoolTask& task) : scales_(upload(scales_of(task))) {
    pool_.input = task.input_data;
    pool_.output = task.output_data;
    pool_.scales = scales_.as<float>();
    pool_.in = task.input.shape;
    pool_.out = task.output.shape;
    pool_.window = task.pool.window;
    pool_.in_zero_point = task.input.zero_point;
    pool_.zero_point = task.output.zero_point;
    pool_.lo = task.pool.lo;
    pool_.hi = task.pool.hi;
    pool_.rounding = task.pool.rounding;
    pool_.in_is_unsigned = task.input.is_unsigned();
  }

  void launch(cudaStream_t stream) const override {
    const std::int64_t count = element_count(pool_.out.nhwc());
    const ImageShape& out = pool_.out;
    const bool fours = out.channels % 4 == 0;
    const std::int64_t positions = pool_.window.kernel_h * pool_.window.kernel_w;
    if (fours && positions >= kLargeWindow) {
      const std::int64_t chunks = (out.channels / 4 + 31) / 32;
      launch_kernel("launching average_pool", average_pool_large_kernel,
                    grid_stride_blocks(out.batch * out.height * out.width * chunks, 1), kThreads, 0,
                    stream, pool_);
      return;
    }
    launch_kernel("launching average_pool", fours ? average_pool_kernel<4> : average_pool_kernel<1>,
                  grid_stride_blocks(fours ? count / 4 : count, kThreads), kThreads, 0, stream,
                  pool_);
  }

  std::string name() const override { return "average_pool"; }

 private:
  DeviceBuffer scales_;
  Average pool_{};
};

}  // namespace

std::unique_ptr<Kernel> make_average_pool(const AveragePoolTask& task) {
  return std::make_unique<AveragePoolKernel>(task);
}

}  // namespace qsim::golden::cuda
