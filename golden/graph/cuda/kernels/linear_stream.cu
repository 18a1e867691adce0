// A fully connected layer for few pictures, bound by reading its weights once. Weights are the A
// operand of mma.sync and come straight from global memory; there is no shared memory but for the
// sum over the warps of a block, which split gemm_k.
#include <algorithm>
#include <string>
#include <vector>

#include "golden/device/launch.cuh"
#include "golden/device/tensor_core.cuh"
#include "golden/graph/cuda/kernels/finish.cuh"

namespace qsim::golden::cuda {
namespace {

constexpr int kWarps = 8;
constexpr int kChannels = 16;   // of a block
constexpr int kStepBytes = 64;  // of gemm_k: two mma.sync
constexpr int kUnroll = 4;      // steps whose weights are under way while others are multiplied
constexpr std::int64_t kMostPictures = 32;
constexpr std::int64_t kMost = 1 << 30;

// The order of gemm_k within a step is free as long as both operands agree: lane (g, q) takes bytes
// 16q..16q+15, of which words 0 and 1 are its share of the first mma.sync, 2 and 3 of the second.
struct LinearStream {
  const std::uint8_t* input;  // [batch][channels]
  const uint4* weights;       // [channel tiles][steps][rows g, rows g + 8][lane], zero padded
  std::uint8_t* output;       // [batch][out_channels]
  OutputParams params;
  int batch, channels, out_channels;
  int steps;
};

// Bytes at..at+15 of picture n; 0 beyond the picture and beyond the batch.
template <bool kVector>
__device__ uint4 load_activations(const LinearStream& layer, int n, int at) {
  if (n >= layer.batch || at >= layer.channels) return {};
  const std::uint8_t* bytes = layer.input + static_cast<std::int64_t>(n) * layer.channels + at;
  if constexpr (kVector) {
    return *reinterpret_cast<const uint4*>(bytes);
  } else {
    std::uint32_t words[4] = {};
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      if (at + i < layer.channels) words[i / 4] |= std::uint32_t{bytes[i]} << (i % 4 * 8);
    }
    return {words[0], words[1], words[2], words[3]};
  }
}

struct Weights {
  uint4 upper[kUnroll];  // rows g
  uint4 lower[kUnroll];  // rows g + 8

  __device__ void load(const LinearStream& layer, int first_step) {
    const int lane = threadIdx.x % 32;
    const uint4* tile =
        layer.weights + static_cast<std::int64_t>(blockIdx.x) * layer.steps * 64 + lane;
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const bool real = first_step + u < layer.steps;
      const uint4* at = tile + static_cast<std::int64_t>(first_step + u) * 64;
      upper[u] = real ? load_once(at) : uint4{};
      lower[u] = real ? load_once(at + 32) : uint4{};
    }
  }
};

// sums[t]: channels g and g + 8 of the block, pictures 8t + 2q and 8t + 2q + 1.
template <bool kUnsigned, int kTiles, bool kVector>
__device__ void multiply_step(const LinearStream& layer, const uint4& upper, const uint4& lower,
                              int step, std::int32_t (&sums)[kTiles][4]) {
  const int lane = threadIdx.x % 32;
  const std::uint32_t first[4] = {upper.x, lower.x, upper.y, lower.y};
  const std::uint32_t second[4] = {upper.z, lower.z, upper.w, lower.w};
#pragma unroll
  for (int t = 0; t < kTiles; ++t) {
    const uint4 b =
        load_activations<kVector>(layer, t * 8 + lane / 4, step * kStepBytes + lane % 4 * 16);
    multiply_b<kUnsigned>(sums[t], first, b.x, b.y);
    multiply_b<kUnsigned>(sums[t], second, b.z, b.w);
  }
}

// Adds the warps' sums and writes the block's outputs.
template <int kTiles>
__device__ void finish_block(const LinearStream& layer, const std::int32_t (&sums)[kTiles][4]) {
  __shared__ std::int32_t partial[kWarps][kTiles * 8][kChannels + 1];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
#pragma unroll
  for (int t = 0; t < kTiles; ++t) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      partial[warp][t * 8 + lane % 4 * 2 + i % 2][lane / 4 + i / 2 * 8] = sums[t][i];
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < layer.batch * kChannels; i += kWarps * 32) {
    const int n = i / kChannels;
    const int channel = static_cast<int>(blockIdx.x) * kChannels + i % kChannels;
    if (channel >= layer.out_channels) continue;
    std::int32_t acc = 0;
    for (int w = 0; w < kWarps; ++w) acc = wrapping_add(acc, partial[w][n][i % kChannels]);
    layer.output[static_cast<std::int64_t>(n) * layer.out_channels + channel] =
        static_cast<std::uint8_t>(finish(layer.params, acc, channel));
  }
}

template <bool kUnsigned, int kTiles, bool kVector>
__global__ void __launch_bounds__(kWarps * 32, 2)
    linear_stream_kernel(const __grid_constant__ LinearStream layer) {
  std::int32_t sums[kTiles][4] = {};
  Weights next;
  int step = static_cast<int>(threadIdx.x / 32) * kUnroll;
  next.load(layer, step);  // weights, which no kernel writes
  begin_kernel();
  for (; step < layer.steps; step += kWarps * kUnroll) {
    const Weights current = next;
    next.load(layer, step + kWarps * kUnroll);
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      multiply_step<kUnsigned, kTiles, kVector>(layer, current.upper[u], current.lower[u], step + u,
                                                sums);
    }
  }
  finish_block<kTiles>(layer, sums);
}

bool takes(const ConvTask& task) {
  const ImageShape& in = task.input.shape;
  const ImageShape& out = task.ofmap.shape;
  const Window& w = task.window;
  return in.height == 1 && in.width == 1 && out.height == 1 && out.width == 1 && w.kernel_h == 1 &&
         w.kernel_w == 1 && w.pad_top == 0 && w.pad_left == 0 && in.batch <= kMostPictures &&
         in.channels < kMost && out.channels < kMost && !task.pool && !task.addition &&
         task.groups == 1 && task.weight_parts == 1;
}

std::vector<std::int8_t> pack_weights(const ConvTask& task, std::int64_t steps) {
  const std::int64_t depth = task.input.shape.channels;
  const std::int64_t channels = task.ofmap.shape.channels;
  const std::int64_t tiles = (channels + kChannels - 1) / kChannels;
  std::vector<std::int8_t> packed(static_cast<std::size_t>(tiles * steps * kChannels * kStepBytes));
  for (std::int64_t co = 0; co < channels; ++co) {
    const std::int64_t row = co % kChannels;
    const std::int64_t tile = co / kChannels * steps * kChannels * kStepBytes;
    for (std::int64_t k = 0; k < depth; k += 16) {
      const std::int64_t lane = row % 8 * 4 + k % kStepBytes / 16;
      const std::int64_t at = tile + ((k / kStepBytes * 2 + row / 8) * 32 + lane) * 16;
      std::copy_n(task.weights + co * depth + k, std::min<std::int64_t>(16, depth - k),
                  packed.data() + at);
    }
  }
  return packed;
}

using KernelFunction = void (*)(LinearStream);

template <int kTiles>
KernelFunction choose(bool is_unsigned, bool vector) {
  if (is_unsigned) {
    return vector ? linear_stream_kernel<true, kTiles, true>
                  : linear_stream_kernel<true, kTiles, false>;
  }
  return vector ? linear_stream_kernel<false, kTiles, true>
                : linear_stream_kernel<false, kTiles, false>;
}

class Linear : public Kernel {
 public:
  explicit Linear(const ConvTask& task) : stage_(task) {
    const ImageShape& in = task.input.shape;
    layer_.steps = static_cast<int>((in.channels + kStepBytes - 1) / kStepBytes);
    weights_ = upload(pack_weights(task, layer_.steps));
    layer_.input = task.input_data;
    layer_.weights = weights_.as<uint4>();
    layer_.output = task.output_data;
    layer_.params = stage_.params();
    layer_.batch = static_cast<int>(in.batch);
    layer_.channels = static_cast<int>(in.channels);
    layer_.out_channels = static_cast<int>(task.ofmap.shape.channels);
    pictures_ = in.batch <= 8 ? 8 : in.batch <= 16 ? 16 : 32;
    const bool is_unsigned = task.input.is_unsigned();
    const bool vector = in.channels % 16 == 0;
    kernel_ = pictures_ == 8    ? choose<1>(is_unsigned, vector)
              : pictures_ == 16 ? choose<2>(is_unsigned, vector)
                                : choose<4>(is_unsigned, vector);
  }

  void launch(cudaStream_t stream) const override {
    launch_kernel("launching linear_stream", kernel_,
                  (layer_.out_channels + kChannels - 1) / kChannels, kWarps * 32, 0, stream,
                  layer_);
  }

  std::string name() const override {
    return "linear_stream " + std::to_string(kChannels) + "x" + std::to_string(pictures_);
  }

 private:
  OutputStage stage_;
  DeviceBuffer weights_;
  LinearStream layer_{};
  int pictures_ = 0;
  KernelFunction kernel_ = nullptr;
};

}  // namespace

std::unique_ptr<Kernel> make_linear_stream(const ConvTask& task) {
  return takes(task) ? std::make_unique<Linear>(task) : nullptr;
}

}  // namespace qsim::golden::cuda
