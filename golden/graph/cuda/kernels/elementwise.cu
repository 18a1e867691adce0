// The layers that look at single bytes or move them: ReLU, Flatten, addition, lookup table.
#include <string>

#include "core/network/layer_arithmetic.h"
#include "golden/device/device_buffer.h"
#include "golden/device/launch.cuh"
#include "golden/graph/cuda/kernels/finish.cuh"
#include "golden/graph/cuda/tasks.h"

namespace qsim::golden::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kTile = 32;  // side of a transposed tile

// Words of four bytes, then the bytes that are left. `zero_points` holds the zero point four times.
__global__ void __launch_bounds__(kThreads)
    relu_kernel(const std::uint8_t* input, std::uint8_t* output, std::int64_t count,
                unsigned zero_points, bool is_unsigned) {
  begin_kernel();
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
  begin_kernel();
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
  begin_kernel();
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

struct Sum {
  const std::uint8_t* a;
  const std::uint8_t* b;
  std::uint8_t* output;
  std::int64_t count;
  AdderParams params;  // of an adder that rounds as float32
  Adder adder;
  std::int32_t zero_point, lo, hi;
  bool a_is_unsigned, b_is_unsigned;
};

// The sum of two levels, in the low byte.
template <bool kFloat>
__device__ std::int32_t sum_of(const Sum& sum, std::uint32_t a_byte, std::uint32_t b_byte) {
  const std::int32_t a = activation(static_cast<std::uint8_t>(a_byte), sum.a_is_unsigned);
  const std::int32_t b = activation(static_cast<std::uint8_t>(b_byte), sum.b_is_unsigned);
  if constexpr (kFloat) {
    return add_float_byte(sum.params, static_cast<float>(a), static_cast<float>(b));
  } else {
    return add_levels(a, b, sum.adder, sum.zero_point, sum.lo, sum.hi);
  }
}

template <bool kFloat>
__device__ std::uint32_t sums_of(const Sum& sum, std::uint32_t a, std::uint32_t b) {
  std::int32_t values[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    values[i] = sum_of<kFloat>(sum, a >> (8 * i) & 0xff, b >> (8 * i) & 0xff);
  }
  return pack_bytes(values);
}

// Sixteen bytes a thread, then the bytes that are left.
template <bool kFloat>
__global__ void __launch_bounds__(kThreads) add_kernel(const __grid_constant__ Sum sum) {
  begin_kernel();
  const auto* a = reinterpret_cast<const uint4*>(sum.a);
  const auto* b = reinterpret_cast<const uint4*>(sum.b);
  for (std::int64_t i = grid_thread(); i < sum.count / 16; i += grid_threads()) {
    const uint4 x = a[i];
    const uint4 y = b[i];
    reinterpret_cast<uint4*>(sum.output)[i] = {
        sums_of<kFloat>(sum, x.x, y.x), sums_of<kFloat>(sum, x.y, y.y),
        sums_of<kFloat>(sum, x.z, y.z), sums_of<kFloat>(sum, x.w, y.w)};
  }
  const std::int64_t last = sum.count / 16 * 16 + grid_thread();
  if (last < sum.count) {
    sum.output[last] = static_cast<std::uint8_t>(sum_of<kFloat>(sum, sum.a[last], sum.b[last]));
  }
}

class AddKernel : public Kernel {
 public:
  explicit AddKernel(const AddTask& task) {
    sum_.a = task.a_data;
    sum_.b = task.b_data;
    sum_.output = task.output_data;
    sum_.count = element_count(task.output.shape.nhwc());
    sum_.adder = adder_of(task.add, task.a, task.b, task.output).value();
    sum_.params = adder_params(sum_.adder, task.add.lo, task.add.hi);
    sum_.zero_point = task.output.zero_point;
    sum_.lo = task.add.lo;
    sum_.hi = task.add.hi;
    sum_.a_is_unsigned = task.a.is_unsigned();
    sum_.b_is_unsigned = task.b.is_unsigned();
  }

  void launch(cudaStream_t stream) const override {
    const bool is_float = sum_.adder.rounding == RequantizerRounding::kFloat32;
    launch_kernel("launching add", is_float ? add_kernel<true> : add_kernel<false>,
                  grid_stride_blocks((sum_.count + 15) / 16, kThreads), kThreads, 0, stream, sum_);
  }

  std::string name() const override { return "add"; }

 private:
  Sum sum_{};
};

// Sixteen bytes a thread, then the bytes that are left.
__global__ void __launch_bounds__(kThreads)
    lookup_kernel(const std::uint8_t* table, const std::uint8_t* input, std::uint8_t* output,
                  std::int64_t count) {
  __shared__ std::uint8_t entries[256];
  entries[threadIdx.x] = table[threadIdx.x];
  __syncthreads();
  begin_kernel();
  const auto look_up = [&](std::uint32_t word) {
    return entries[word & 0xff] | std::uint32_t{entries[word >> 8 & 0xff]} << 8 |
           std::uint32_t{entries[word >> 16 & 0xff]} << 16 |
           std::uint32_t{entries[word >> 24]} << 24;
  };
  const auto* from = reinterpret_cast<const uint4*>(input);
  for (std::int64_t i = grid_thread(); i < count / 16; i += grid_threads()) {
    const uint4 x = from[i];
    reinterpret_cast<uint4*>(output)[i] = {look_up(x.x), look_up(x.y), look_up(x.z), look_up(x.w)};
  }
  const std::int64_t last = count / 16 * 16 + grid_thread();
  if (last < count) output[last] = entries[input[last]];
}

class LookupKernel : public Kernel {
 public:
  static_assert(kThreads == 256);

  explicit LookupKernel(const LookupTask& task)
      : task_(task), table_(upload_bytes(task.bytes.data(), task.bytes.size())) {}

  void launch(cudaStream_t stream) const override {
    launch_kernel("launching lookup_table", lookup_kernel,
                  grid_stride_blocks((task_.count + 15) / 16, kThreads), kThreads, 0, stream,
                  table_.as<std::uint8_t>(), task_.input_data, task_.output_data, task_.count);
  }

  std::string name() const override { return "lookup_table"; }

 private:
  LookupTask task_;
  DeviceBuffer table_;
};

}  // namespace

std::unique_ptr<Kernel> make_add(const AddTask& task) { return std::make_unique<AddKernel>(task); }
std::unique_ptr<Kernel> make_lookup(const LookupTask& task) {
  return std::make_unique<LookupKernel>(task);
}
std::unique_ptr<Kernel> make_relu(const ReluTask& task) {
  return std::make_unique<ReluKernel>(task);
}
std::unique_ptr<Kernel> make_flatten(const FlattenTask& task) {
  return std::make_unique<FlattenKernel>(task);
}

}  // namespace qsim::golden::cuda
