// The gradient of max pooling, gathered: each input level asks the windows that hold it whether it
// is their first greatest.
#include <cstddef>

#include "golden/device/fast_divisor.h"
#include "golden/device/launch.cuh"
#include "golden/kernels/train/cuda/backward/max_pool_windows.cuh"
#include "golden/kernels/train/cuda/backward/real_values.cuh"
#include "golden/kernels/train/cuda/train_cuda.h"

namespace qsim::golden::train::cuda {
namespace {

using golden::cuda::FastDivisor;

constexpr int kThreads = 256;

struct Axis {
  int size, out_size, kernel, stride, dilation, pad;

  // The place of x that a window's tap lies at.
  __device__ int in(int out, int tap) const { return out * stride - pad + tap * dilation; }
  // The window whose tap lies at a place; -1: there is none.
  __device__ int out(int in, int tap) const {
    const int from = in + pad - tap * dilation;
    const int out = from / stride;
    return from >= 0 && out * stride == from && out < out_size ? out : -1;
  }
};

struct PoolArgs {
  const std::int8_t* q;
  const std::uint8_t* passes;
  RealView dy, dx;
  Axis y, x;
  FastDivisor width, height, groups;  // of channels of a thread
  int items, channels;
};

// A thread's channels of a pixel.
struct Item {
  int b, y, x, channel, pixel;

  __device__ Item(const PoolArgs& args, int index, int vector) {
    pixel = args.groups.divide(index);
    channel = (index - pixel * args.groups.divisor()) * vector;
    const int row = args.width.divide(pixel);
    x = pixel - row * args.width.divisor();
    b = args.height.divide(row);
    y = row - b * args.height.divisor();
  }
};

// Whether each of kVector levels at tap (ty, tx) of window (oy, ox) is its first greatest.
template <int kVector>
__device__ inline std::uint32_t first_greatest(const PoolArgs& args, const std::int8_t* picture,
                                               const std::int8_t (&own)[kVector], int oy, int ox,
                                               int ty, int tx) {
  std::uint32_t greatest = (1U << kVector) - 1;
  int ky = 0;
  int kx = -1;
#pragma unroll 1
  for (int tap = args.y.kernel * args.x.kernel; tap > 0; --tap) {
    ++kx;
    ky += kx == args.x.kernel ? 1 : 0;
    kx = kx == args.x.kernel ? 0 : kx;
    const int y = args.y.in(oy, ky);
    const int x = args.x.in(ox, kx);
    const bool inside = y >= 0 && y < args.y.size && x >= 0 && x < args.x.size;
    if (!inside || (ky == ty && kx == tx)) continue;
    const bool before = ky < ty || (ky == ty && kx < tx);
    std::int8_t other[kVector];
    const std::int8_t* from = picture + (std::int64_t{y} * args.x.size + x) * args.channels;
    if constexpr (kVector == 4) {
      *reinterpret_cast<char4*>(other) = *reinterpret_cast<const char4*>(from);
    } else {
      other[0] = from[0];
    }
#pragma unroll
    for (int j = 0; j < kVector; ++j) {
      const bool greater = other[j] + (before ? 1 : 0) > own[j];
      greatest &= ~((greater ? 1U : 0U) << j);
    }
  }
  return greatest;
}

template <int kVector>
__global__ void __launch_bounds__(kThreads)
    max_pool_gradient(const __grid_constant__ PoolArgs args) {
  golden::cuda::begin_kernel();
  const auto index = static_cast<std::int32_t>(golden::cuda::grid_thread());
  if (index >= args.items) return;
  const Item item(args, index, kVector);
  const std::int8_t* picture =
      args.q + std::int64_t{item.b} * args.y.size * args.x.size * args.channels + item.channel;
  std::int8_t own[kVector];
  for (int j = 0; j < kVector; ++j) {
    own[j] = picture[(std::int64_t{item.y} * args.x.size + item.x) * args.channels + j];
  }
  float sums[kVector] = {};
  // Windows by rising oh, ow: by falling taps.
  int ty = args.y.kernel - 1;
  int tx = args.x.kernel;
#pragma unroll 1
  for (int tap = args.y.kernel * args.x.kernel; tap > 0; --tap) {
    --tx;
    ty -= tx < 0 ? 1 : 0;
    tx = tx < 0 ? args.x.kernel - 1 : tx;
    const int oy = args.y.out(item.y, ty);
    const int ox = args.x.out(item.x, tx);
    if (oy < 0 || ox < 0) continue;
    const std::uint32_t greatest = first_greatest<kVector>(args, picture, own, oy, ox, ty, tx);
    const std::int64_t at = item.b * args.dy.stride_b + oy * args.dy.stride_h +
                            ox * args.dy.stride_w + item.channel * args.dy.stride_c;
#pragma unroll
    for (int j = 0; j < kVector; ++j) {
      if ((greatest >> j & 1) == 0) continue;
      sums[j] += load_real(args.dy.data, args.dy.type, at + j * args.dy.stride_c);
    }
  }
  const std::int64_t to = item.b * args.dx.stride_b + item.y * args.dx.stride_h +
                          item.x * args.dx.stride_w + item.channel * args.dx.stride_c;
#pragma unroll
  for (int j = 0; j < kVector; ++j) {
    const bool passes =
        passes_at(args.passes, std::int64_t{item.pixel} * args.channels + item.channel + j);
    store_real(args.dx.data, args.dx.type, to + j * args.dx.stride_c, passes ? sums[j] : 0.0F);
  }
}

}  // namespace

std::size_t workspace_bytes(const MaxPoolGradient&) { return 0; }

namespace {

// Enqueues the gradient of as many pictures as `call` has.
void enqueue_pictures(const MaxPoolGradient& call, bool vectors, cudaStream_t stream) {
  const ImageShape& x = call.x_shape;
  const ImageShape& y = call.y_shape;
  const Window& w = call.window;
  PoolArgs args{};
  args.q = call.q;
  args.passes = call.passes;
  args.dy = view_of(call.dy);
  args.dx = view_of(call.dx);
  args.y = {count31(x.height),   count31(y.height),     count31(w.kernel_h),
            count31(w.stride_h), count31(w.dilation_h), count31(w.pad_top)};
  args.x = {count31(x.width),    count31(y.width),      count31(w.kernel_w),
            count31(w.stride_w), count31(w.dilation_w), count31(w.pad_left)};
  args.channels = count31(x.channels);
  args.width = FastDivisor(args.x.size);
  args.height = FastDivisor(args.y.size);
  args.groups = FastDivisor(vectors ? args.channels / 4 : args.channels);
  args.items = count31(call.dx.elems() / (vectors ? 4 : 1));
  golden::cuda::launch_kernel(
      "launching max_pool_gradient", vectors ? max_pool_gradient<4> : max_pool_gradient<1>,
      (std::int64_t{args.items} + kThreads - 1) / kThreads, kThreads, 0, stream, args);
}

}  // namespace

// Threads are counted in 31 bits, so a launch takes as many pictures as they are enough for; their
// bits of `passes` begin at whole bytes.
void enqueue(const MaxPoolGradient& call, void*, void* stream) {
  if (call.dx.elems() == 0) return;
  if (has_pool_windows(call)) {
    enqueue_pool_windows(call, static_cast<cudaStream_t>(stream));
    return;
  }
  const std::int64_t of_picture = call.x_shape.height * call.x_shape.width * call.x_shape.channels;
  const bool vectors =
      call.x_shape.channels % 4 == 0 && reinterpret_cast<std::uintptr_t>(call.q) % 4 == 0;
  const std::int64_t pictures = std::max<std::int64_t>(INT32_MAX / 2 / of_picture / 8 * 8, 8);
  MaxPoolGradient part = call;
  for (std::int64_t first = 0; first < call.x_shape.batch; first += pictures) {
    const std::int64_t batch = std::min(pictures, call.x_shape.batch - first);
    part.q = call.q + first * of_picture;
    part.passes = call.passes == nullptr ? nullptr : call.passes + first * of_picture / 8;
    part.dy.data =
        static_cast<std::byte*>(call.dy.data) + first * call.dy.strides[0] * bytes_of(call.dy.type);
    part.dx.data =
        static_cast<std::byte*>(call.dx.data) + first * call.dx.strides[0] * bytes_of(call.dx.type);
    part.x_shape.batch = part.y_shape.batch = part.dy.shape[0] = part.dx.shape[0] = batch;
    enqueue_pictures(part, vectors, static_cast<cudaStream_t>(stream));
  }
}

}  // namespace qsim::golden::train::cuda
