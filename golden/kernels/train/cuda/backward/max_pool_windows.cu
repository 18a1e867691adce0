#include "golden/device/fast_divisor.h"
#include "golden/device/launch.cuh"
#include "golden/kernels/train/cuda/backward/max_pool_windows.cuh"
#include "golden/kernels/train/cuda/backward/real_values.cuh"

namespace qsim::golden::train::cuda {
namespace {

using golden::cuda::FastDivisor;

constexpr int kThreads = 256;

struct WindowArgs {
  const std::int8_t* q;
  const std::uint8_t* passes;
  RealView dy, dx;
  int height, width, channels;  // of x
  int out_height, out_width;
  FastDivisor octets, windows_x, windows_y;  // of a pixel; also those that x has beyond y's
  int items;
};

template <typename T>
struct Eight {
  float values[8];

  __device__ static Eight load(const void* data, std::int64_t at) {
    Eight eight;
    const T* from = static_cast<const T*>(data) + at;
    if constexpr (sizeof(T) == 4) {
      reinterpret_cast<float4*>(eight.values)[0] = reinterpret_cast<const float4*>(from)[0];
      reinterpret_cast<float4*>(eight.values)[1] = reinterpret_cast<const float4*>(from)[1];
    } else {
      alignas(16) T values[8];
      *reinterpret_cast<uint4*>(values) = *reinterpret_cast<const uint4*>(from);
#pragma unroll
      for (int j = 0; j < 8; ++j) eight.values[j] = static_cast<float>(values[j]);
    }
    return eight;
  }
  __device__ void store(void* data, std::int64_t at) const {
    T* to = static_cast<T*>(data) + at;
    if constexpr (sizeof(T) == 4) {
      reinterpret_cast<float4*>(to)[0] = reinterpret_cast<const float4*>(values)[0];
      reinterpret_cast<float4*>(to)[1] = reinterpret_cast<const float4*>(values)[1];
    } else {
      alignas(16) T rounded[8];
#pragma unroll
      for (int j = 0; j < 8; ++j) rounded[j] = static_cast<T>(values[j]);
      *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(rounded);
    }
  }
};

template <typename T>
__global__ void __launch_bounds__(kThreads)
    max_pool_windows(const __grid_constant__ WindowArgs args) {
  golden::cuda::begin_kernel();
  const auto index = static_cast<int>(golden::cuda::grid_thread());
  if (index >= args.items) return;
  const int window = args.octets.divide(index);
  const int channel = (index - window * args.octets.divisor()) * 8;
  const int row = args.windows_x.divide(window);
  const int ox = window - row * args.windows_x.divisor();
  const int b = args.windows_y.divide(row);
  const int oy = row - b * args.windows_y.divisor();
  const bool has_dy = oy < args.out_height && ox < args.out_width;
  Eight<T> dy{};
  std::int64_t pixels[4];
  bool inside[4];
  uint2 levels[4];
  std::uint32_t bits[4];
#pragma unroll
  for (int tap = 0; tap < 4; ++tap) {
    const int y = 2 * oy + tap / 2;
    const int x = 2 * ox + tap % 2;
    inside[tap] = y < args.height && x < args.width;
    pixels[tap] = (std::int64_t{b} * args.height + y) * args.width + x;
    levels[tap] = {};
    bits[tap] = 0;
    if (!has_dy) continue;  // then all of the window is inside
    const std::int64_t at = pixels[tap] * args.channels + channel;
    levels[tap] = __ldg(reinterpret_cast<const uint2*>(args.q + at));
    bits[tap] = args.passes == nullptr ? 0xFF : __ldg(args.passes + at / 8);
  }
  if (has_dy) {
    dy = Eight<T>::load(args.dy.data, b * args.dy.stride_b + oy * args.dy.stride_h +
                                          ox * args.dy.stride_w + channel);
  }
  uint2 greatest = levels[0];
#pragma unroll
  for (int tap = 1; tap < 4; ++tap) {
    greatest = {__vmaxs4(greatest.x, levels[tap].x), __vmaxs4(greatest.y, levels[tap].y)};
  }
  uint2 free = {~0U, ~0U};  // channels whose greatest is still to come
#pragma unroll
  for (int tap = 0; tap < 4; ++tap) {
    const uint2 here = {free.x & __vcmpeq4(levels[tap].x, greatest.x),
                        free.y & __vcmpeq4(levels[tap].y, greatest.y)};
    free = {free.x & ~here.x, free.y & ~here.y};
    Eight<T> dx;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const std::uint32_t word = j < 4 ? here.x : here.y;
      const bool own = (word >> (j % 4 * 8) & 1) != 0 && (bits[tap] >> j & 1) != 0;
      dx.values[j] = own ? 0.0F + dy.values[j] : 0.0F;  // a sum: no negative zero
    }
    if (!inside[tap]) continue;
    dx.store(args.dx.data, b * args.dx.stride_b + (2 * oy + tap / 2) * args.dx.stride_h +
                               (2 * ox + tap % 2) * args.dx.stride_w + channel);
  }
}

bool has_channel_vectors(const RealTensor& x) {
  return x.strides[3] == 1 && has_aligned_vectors(x, 3, 16);
}

std::int64_t windows_of(std::int64_t size) { return (size + 1) / 2; }

std::int64_t items_of(const ImageShape& x) {
  return x.batch * windows_of(x.height) * windows_of(x.width) * (x.channels / 8);
}

}  // namespace

bool has_pool_windows(const MaxPoolGradient& call) {
  return call.window == Window{2, 2, 2, 2} && call.x_shape.channels % 8 == 0 &&
         call.y_shape.height == call.x_shape.height / 2 &&
         call.y_shape.width == call.x_shape.width / 2 && call.dx.type == call.dy.type &&
         has_channel_vectors(call.dx) && has_channel_vectors(call.dy) &&
         reinterpret_cast<std::uintptr_t>(call.q) % 8 == 0 && items_of(call.x_shape) <= INT32_MAX;
}

void enqueue_pool_windows(const MaxPoolGradient& call, cudaStream_t stream) {
  WindowArgs args{};
  args.q = call.q;
  args.passes = call.passes;
  args.dy = view_of(call.dy);
  args.dx = view_of(call.dx);
  args.height = count31(call.x_shape.height);
  args.width = count31(call.x_shape.width);
  args.channels = count31(call.x_shape.channels);
  args.out_height = count31(call.y_shape.height);
  args.out_width = count31(call.y_shape.width);
  args.octets = FastDivisor(args.channels / 8);
  args.windows_x = FastDivisor(count31(windows_of(args.width)));
  args.windows_y = FastDivisor(count31(windows_of(args.height)));
  args.items = count31(items_of(call.x_shape));
  const auto kernel = call.dx.type == RealType::kFloat32   ? max_pool_windows<float>
                      : call.dx.type == RealType::kFloat16 ? max_pool_windows<__half>
                                                           : max_pool_windows<__nv_bfloat16>;
  golden::cuda::launch_kernel("launching max_pool_windows", kernel,
                              (std::int64_t{args.items} + kThreads - 1) / kThreads, kThreads, 0,
                              stream, args);
}

}  // namespace qsim::golden::train::cuda
