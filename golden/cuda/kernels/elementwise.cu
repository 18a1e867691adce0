// The layers that only look at or move single bytes: ReLU and Flatten.
#include <string>

#include "golden/cuda/kernels/launch.cuh"
#include "golden/cuda/tasks.h"

namespace qsim::golden::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kTile = 32;  // side of a transposed tile

// Words of four bytes, then the bytes that are left. `zero_points` holds the zero point four times.
__global__ void __launch_bounds__(kThreads)
    relu_kernel(const std::uint8_t* input, std::uint8_t* output, std::int64_t count,
                unsigned zero_points, bool is_unsigned) {
  const auto* words = reinterpret_cast<const unsigned*>(input);
  for (std::int64_t i = grid_thread(); i < count / 4; i += grid_threads()) {
    reinterpret_cast<unsigned*>(output)[i] =
        is_unsigned ? __vmaxu4(words[i], zero_points) : __vmaxs4(words[i], zero_points);
  }
  const std::int64_t last = count / 4 * 4 + grid_thread();
  if (last < count) {
    const std::int32_t zero_point = activation(zero_points & 0xff, is_unsigned);
    output[last] = static_cast<std::uint8_t>(max(activation(input[last], is_unsigned), zero_point));
  }
}

class ReluKernel : public Kernel {
 public:
  explicit ReluKernel(const ReluTask& task) : task_(task) {}

  void launch(cudaStream_t stream) const override {
    const std::int64_t count = element_count(task_.value.shape.nhwc());
    const unsigned zero_points = 0x01010101U * static_cast<std::uint8_t>(task_.value.zero_point);
    launch_kernel("launching relu", relu_kernel, grid_stride_blocks((count + 3) / 4, kThreads),
                  kThreads, 0, stream, task_.input_data, task_.output_data, count, zero_points,
                  task_.value.is_unsigned());
  }

  std::string name() const override { return "relu"; }

 private:
  ReluTask task_;
};

// Transposes each picture's [pixels][channels] to [channels][pixels], a tile a block at a time.
__global__ void __launch_bounds__(kThreads)
    flatten_chw_kernel(const std::uint8_t* input, std::uint8_t* output, std::int64_t batch,
                       std::int64_t pixels, std::int64_t channels) {
  __shared__ std::uint8_t tile[kTile][kTile + 4];
  const int column = threadIdx.x % kTile;
  const int first_row = threadIdx.x / kTile;
  const std::int64_t pixel_tiles = (pixels + kTile - 1) / kTile;
  const std::int64_t channel_tiles = (channels + kTile - 1) / kTile;
  for (std::int64_t t = blockIdx.x; t < batch * pixel_tiles * channel_tiles; t += gridDim.x) {
    const std::int64_t channel = t % channel_tiles * kTile;
    const std::int64_t pixel = t / channel_tiles % pixel_tiles * kTile;
    const std::int64_t picture = t / channel_tiles / pixel_tiles * pixels * channels;
    for (int row = first_row; row < kTile; row += kThreads / kTile) {
      if (pixel + row < pixels && channel + column < channels) {
        tile[row][column] = input[picture + (pixel + row) * channels + channel + column];
      }
    }
    __syncthreads();
    for (int row = first_row; row < kTile; row += kThreads / kTile) {
      if (channel + row < channels && pixel + column < pixels) {
        output[picture + (channel + row) * pixels + pixel + column] = tile[column][row];
      }
    }
    __syncthreads();
  }
}

// A kernel and no copy: what follows may be launched so that it starts before this one has ended,
// which CUDA graphs know between kernels alone.
__global__ void copy_kernel(const std::uint8_t* from, std::uint8_t* to, std::int64_t bytes) {
  for (std::int64_t i = grid_thread(); i < bytes; i += grid_threads()) to[i] = from[i];
}

class FlattenKernel : public Kernel {
 public:
  explicit FlattenKernel(const FlattenTask& task) : task_(task) {}

  void launch(cudaStream_t stream) const override {
    const ImageShape& in = task_.input.shape;
    if (task_.order == Flatten::Order::kHwc) {
      const std::int64_t bytes = element_count(in.nhwc());
      launch_kernel("launching flatten", copy_kernel, grid_stride_blocks(bytes, kThreads), kThreads,
                    0, stream, task_.input_data, task_.output_data, bytes);
      return;
    }
    const std::int64_t pixels = in.height * in.width;
    const std::int64_t tiles =
        in.batch * ((pixels + kTile - 1) / kTile) * ((in.channels + kTile - 1) / kTile);
    launch_kernel("launching flatten", flatten_chw_kernel, grid_stride_blocks(tiles, 1), kThreads,
                  0, stream, task_.input_data, task_.output_data, in.batch, pixels, in.channels);
  }

  std::string name() const override {
    return task_.order == Flatten::Order::kHwc ? "flatten copy" : "flatten transpose";
  }

 private:
  FlattenTask task_;
};

}  // namespace

std::unique_ptr<Kernel> make_relu(const ReluTask& task) {
  return std::make_unique<ReluKernel>(task);
}
std::unique_ptr<Kernel> make_flatten(const FlattenTask& task) {
  return std::make_unique<FlattenKernel>(task);
}

}  // namespace qsim::golden::cuda
