// The operand of both gradients: dy as bfloat16 [pixels][channels], and the sums of each channel.
// A block has 128 pixels and 64 channels, which it turns in shared memory unless they are vectors
// of channels already. Sums of a block's pixels go to the workspace, and are added in their order.
#include "golden/device/fast_divisor.h"
#include "golden/device/launch.cuh"
#include "golden/kernels/train/cuda/backward/channel_sums.cuh"
#include "golden/kernels/train/cuda/backward/conv_geometry.h"
#include "golden/kernels/train/cuda/backward/real_values.cuh"
#include "golden/kernels/train/cuda/train_cuda.h"

namespace qsim::golden::train::cuda {
namespace {

using golden::cuda::FastDivisor;

constexpr int kPixels = 128;
constexpr int kChannels = 64;
constexpr int kThreads = 256;
constexpr int kSteps = kPixels * kChannels / 8 / kThreads;  // pixels of a thread, 8 channels each
constexpr int kRowThreads = kPixels / 4;                    // that read a channel's pixels
constexpr int kRowSteps = kChannels * kRowThreads / kThreads;

enum class Order : std::uint8_t {
  kPixelVectors,    // four pixels of a channel at a time
  kChannelVectors,  // eight channels of a pixel
  kAny,
};

struct OperandArgs {
  RealView dy;
  const std::uint8_t* passes;
  std::uint16_t* g;
  float* sums;                 // [pixel tiles][channels], or null
  FastDivisor picture, width;  // pixels of them
  int pixels, channels, channel_tiles;
  bool pixels_first;  // kAny: neighbours in memory are pixels
  bool vectors_of_g;  // eight channels are written at once
};

// Where an element is in shared memory: rows of 128 pixels, so turned that four pixels of eight
// groups of eight channels are in 32 banks.
__device__ inline int place(int channel, int pixel) {
  return channel * kPixels + (pixel ^ (channel / 8 * 4));
}

__device__ inline std::int64_t offset_of(const OperandArgs& args, int pixel) {
  const int picture = args.picture.divide(pixel);
  const int in_picture = pixel - picture * args.picture.divisor();
  const int y = args.width.divide(in_picture);
  return picture * args.dy.stride_b + y * args.dy.stride_h +
         (in_picture - y * args.width.divisor()) * args.dy.stride_w;
}

template <typename T>
__device__ inline float4 load_four(const T* from) {
  if constexpr (sizeof(T) == 4) {
    return *reinterpret_cast<const float4*>(from);
  } else {
    const uint2 words = *reinterpret_cast<const uint2*>(from);
    T values[4];
    *reinterpret_cast<uint2*>(values) = words;
    return {static_cast<float>(values[0]), static_cast<float>(values[1]),
            static_cast<float>(values[2]), static_cast<float>(values[3])};
  }
}

template <typename T>
struct alignas(16) Eight {
  T values[8];

  __device__ void load(const T* from) {
#pragma unroll
    for (int i = 0; i < static_cast<int>(8 * sizeof(T) / 16); ++i) {
      reinterpret_cast<uint4*>(values)[i] = reinterpret_cast<const uint4*>(from)[i];
    }
  }
};

template <typename T>
__device__ inline void load_pixel_vectors(const OperandArgs& args, int first_pixel,
                                          int first_channel, float* tile) {
  const int in_tile = static_cast<int>(threadIdx.x) % kRowThreads * 4;
  const int pixel = first_pixel + in_tile;
  const int row = static_cast<int>(threadIdx.x) / kRowThreads;
  const bool inside = pixel < args.pixels;
  const T* from = static_cast<const T*>(args.dy.data) + (inside ? offset_of(args, pixel) : 0);
  float4 values[kRowSteps];
#pragma unroll
  for (int i = 0; i < kRowSteps; ++i) {
    const int channel = first_channel + row + kThreads / kRowThreads * i;
    values[i] =
        inside && channel < args.channels ? load_four(from + channel * args.dy.stride_c) : float4{};
  }
#pragma unroll
  for (int i = 0; i < kRowSteps; ++i) {
    *reinterpret_cast<float4*>(tile + place(row + kThreads / kRowThreads * i, in_tile)) = values[i];
  }
}

__device__ inline void load_any(const OperandArgs& args, int first_pixel, int first_channel,
                                float* tile) {
  for (int i = static_cast<int>(threadIdx.x); i < kPixels * kChannels; i += kThreads) {
    const int pixel = args.pixels_first ? i % kPixels : i / kChannels;
    const int channel = args.pixels_first ? i / kPixels : i % kChannels;
    float value = 0;
    if (first_pixel + pixel < args.pixels && first_channel + channel < args.channels) {
      value = load_real(
          args.dy.data, args.dy.type,
          offset_of(args, first_pixel + pixel) + (first_channel + channel) * args.dy.stride_c);
    }
    tile[place(channel, pixel)] = value;
  }
}

// Bits of eight channels from `channel` on.
__device__ inline std::uint32_t bits_of_eight(const OperandArgs& args, int pixel, int channel) {
  if (args.passes == nullptr) return 0xFF;
  const std::int64_t index = std::int64_t{pixel} * args.channels + channel;
  if (args.channels % 8 == 0) return __ldg(args.passes + index / 8);
  std::uint32_t bits = 0;
  for (int j = 0; j < 8 && channel + j < args.channels; ++j) {
    bits |= static_cast<std::uint32_t>(bit_at(args.passes, index + j)) << j;
  }
  return bits;
}

__device__ inline void store_eight(const OperandArgs& args, int pixel, int channel,
                                   const float (&values)[8]) {
  std::uint16_t* to = args.g + std::int64_t{pixel} * args.channels + channel;
  if (args.vectors_of_g) {
    *reinterpret_cast<uint4*>(to) = {
        bfloat16_pair(values[0], values[1]), bfloat16_pair(values[2], values[3]),
        bfloat16_pair(values[4], values[5]), bfloat16_pair(values[6], values[7])};
    return;
  }
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    if (channel + j < args.channels) {
      store_real(to, RealType::kBfloat16, j, values[j]);
    }
  }
}

template <typename T, Order kOrder>
__global__ void __launch_bounds__(kThreads)
    gradient_operand(const __grid_constant__ OperandArgs args) {
  golden::cuda::begin_kernel();
  __shared__ __align__(16) float tile[kOrder == Order::kChannelVectors ? 1 : kPixels * kChannels];
  __shared__ float warp_sums[kThreads / 32][kChannels];
  const int channel_tile = static_cast<int>(blockIdx.x) % args.channel_tiles;
  const int pixel_tile = static_cast<int>(blockIdx.x) / args.channel_tiles;
  const int first_pixel = pixel_tile * kPixels;
  const int first_channel = channel_tile * kChannels;
  if constexpr (kOrder == Order::kPixelVectors) {
    load_pixel_vectors<T>(args, first_pixel, first_channel, tile);
  } else if constexpr (kOrder == Order::kAny) {
    load_any(args, first_pixel, first_channel, tile);
  }
  __syncthreads();
  const int octet = static_cast<int>(threadIdx.x) % 8 * 8;
  const int channel = first_channel + octet;
  const auto pixel_of = [&](int i) {
    return first_pixel + static_cast<int>(threadIdx.x) / 8 + i * (kThreads / 8);
  };
  // All loads before the first use.
  std::uint32_t bits[kSteps];
  Eight<T> vectors[kOrder == Order::kChannelVectors ? kSteps : 1];
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    const int pixel = pixel_of(i);
    const bool inside = pixel < args.pixels && channel < args.channels;
    bits[i] = inside ? bits_of_eight(args, pixel, channel) : 0;
    if constexpr (kOrder == Order::kChannelVectors) {
      if (inside) {
        vectors[i].load(static_cast<const T*>(args.dy.data) + offset_of(args, pixel) + channel);
      }
    }
  }
  float sums[8] = {};
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    if (pixel_of(i) >= args.pixels || channel >= args.channels) continue;
    float values[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      if constexpr (kOrder == Order::kChannelVectors) {
        values[j] = static_cast<float>(vectors[i].values[j]);
      } else {
        values[j] = tile[place(octet + j, pixel_of(i) - first_pixel)];
      }
      if ((bits[i] >> j & 1) == 0) values[j] = 0;
      sums[j] += values[j];
    }
    store_eight(args, pixel_of(i), channel, values);
  }
  if (args.sums == nullptr) return;
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    sums[j] += __shfl_xor_sync(0xFFFFFFFFu, sums[j], 8);
    sums[j] += __shfl_xor_sync(0xFFFFFFFFu, sums[j], 16);
    if (threadIdx.x % 32 < 8) warp_sums[threadIdx.x / 32][octet + j] = sums[j];
  }
  __syncthreads();
  const int own = static_cast<int>(threadIdx.x);
  if (own >= kChannels || first_channel + own >= args.channels) return;
  float sum = 0;
  for (int warp = 0; warp < kThreads / 32; ++warp) sum += warp_sums[warp][own];
  args.sums[std::int64_t{pixel_tile} * args.channels + first_channel + own] = sum;
}

std::int64_t pixels_of(const RealTensor& dy) { return dy.shape[0] * dy.shape[1] * dy.shape[2]; }
std::int64_t pixel_tiles_of(const RealTensor& dy) {
  return (pixels_of(dy) + kPixels - 1) / kPixels;
}

Order order_of(const RealTensor& dy) {
  const auto& s = dy.strides;
  const int elem = bytes_of(dy.type);
  const std::int64_t picture = dy.shape[1] * dy.shape[2];
  if ((s[3] == 1 || dy.shape[3] == 1) && dy.shape[3] % 8 == 0 && has_aligned_vectors(dy, 3, 16)) {
    return Order::kChannelVectors;
  }
  const bool joined = dy.shape[1] == 1 || s[1] == dy.shape[2] * s[2];
  RealTensor rows = dy;  // the pixels of a picture as one axis
  rows.shape = {dy.shape[0], 1, picture, dy.shape[3]};
  return joined && s[2] == 1 && picture % 4 == 0 && has_aligned_vectors(rows, 2, 4 * elem)
             ? Order::kPixelVectors
             : Order::kAny;
}

template <typename T>
auto kernel_of(Order order) {
  switch (order) {
    case Order::kPixelVectors:
      return gradient_operand<T, Order::kPixelVectors>;
    case Order::kChannelVectors:
      return gradient_operand<T, Order::kChannelVectors>;
    default:
      return gradient_operand<float, Order::kAny>;
  }
}

auto kernel_of(RealType type, Order order) {
  if (type == RealType::kFloat32) return kernel_of<float>(order);
  return type == RealType::kFloat16 ? kernel_of<__half>(order) : kernel_of<__nv_bfloat16>(order);
}

}  // namespace

std::size_t workspace_bytes(const GradientOperand& call) {
  if (call.bias_gradient == nullptr) return 0;
  return static_cast<std::size_t>(pixel_tiles_of(call.dy) * call.dy.shape[3]) * sizeof(float);
}

void enqueue(const GradientOperand& call, void* workspace, void* stream) {
  const auto cuda_stream = static_cast<cudaStream_t>(stream);
  const RealTensor& dy = call.dy;
  const std::int64_t tiles = pixel_tiles_of(dy);
  const int channels = count31(dy.shape[3]);
  if (channels == 0) return;
  if (tiles > 0) {
    OperandArgs args{};
    args.dy = view_of(dy);
    args.passes = call.passes;
    args.g = call.g;
    args.sums = call.bias_gradient == nullptr ? nullptr : static_cast<float*>(workspace);
    args.picture = FastDivisor(count31(dy.shape[1] * dy.shape[2]));
    args.width = FastDivisor(count31(dy.shape[2]));
    args.pixels = count31(pixels_of(dy));
    args.channels = channels;
    args.channel_tiles = (channels + kChannels - 1) / kChannels;
    args.pixels_first = dy.strides[3] != 1 && channels > 1;
    args.vectors_of_g = channels % 8 == 0 && is_aligned_16(call.g);
    golden::cuda::launch_kernel("launching gradient_operand", kernel_of(dy.type, order_of(dy)),
                                tiles * args.channel_tiles, kThreads, 0, cuda_stream, args);
  }
  if (call.bias_gradient != nullptr) {
    enqueue_channel_sums(static_cast<const float*>(workspace), tiles, channels, call.bias_gradient,
                         cuda_stream);
  }
}

}  // namespace qsim::golden::train::cuda
