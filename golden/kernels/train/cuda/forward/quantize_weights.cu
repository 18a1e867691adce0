// Weights to levels with a scale each output channel. A block has a channel: it finds the greatest
// magnitude, and reads the channel again, from shared memory or the cache, to round it. Where
// channels begin within a byte of bits, a second kernel rounds.
#include <string>

#include "core/base/error.h"
#include "golden/device/launch.cuh"
#include "golden/kernels/train/cuda/forward/level_maker.cuh"
#include "golden/kernels/train/cuda/train_cuda.h"
#include "golden/kernels/train/level_arithmetic.h"

namespace qsim::golden::train::cuda {
namespace {

using namespace golden::cuda;

constexpr int kThreads = 512;

__device__ float finite_magnitude(float value) {
  const float magnitude = fabsf(value);
  return magnitude < INFINITY ? magnitude : 0;
}

// The greatest over the block, for all of its threads.
__device__ float block_most(float most) {
  __shared__ float warps[kThreads / 32];
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    most = fmaxf(most, __shfl_xor_sync(0xFFFFFFFFU, most, step));
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = most;
  __syncthreads();
  for (int i = 0; i < kThreads / 32; ++i) most = fmaxf(most, warps[i]);
  return most;
}

// How a block reads a channel. kDense: channels are without gaps, in order, and multiples of 8
// elements, aligned. kStaged: without gaps in some order, by way of shared memory. kAny: any.
enum class Way : std::uint8_t { kDense, kStaged, kAny };

constexpr int kMostStaged = 12 * 1024 - 64;  // elements, with the 48 KB that need no asking

// Eight elements from `at` on of the channel [1][H][W][C] at w.
template <typename T, bool kIsDense>
__device__ void load_eight(const T* w, const RealTensor& channel, int at, int elems,
                           float (&values)[8]) {
  if constexpr (kIsDense) {
    constexpr int kCount = RealVector<T>::kCount;
#pragma unroll
    for (int v = 0; v < 8 / kCount; ++v) {
      const RealVector<T> loaded = load_vector<T>(w + at + v * kCount);
#pragma unroll
      for (int i = 0; i < kCount; ++i) values[v * kCount + i] = real_of(loaded.values[i]);
    }
  } else {
    RealPlace place(channel, at);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      values[i] = at + i < elems ? real_of(w[place.offset(channel)]) : 0;
      place.advance(channel);
    }
  }
}

// Writes up to eight levels and their bits.
template <bool kTruncates>
__device__ void write_eight(const QuantizeWeights& call, const LevelMaker<kTruncates>& maker,
                            const float (&values)[8], std::int64_t at, int count) {
  std::uint32_t bits = 0;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    if (i >= count) break;
    const MadeLevel made = maker(values[i]);
    call.q[at + i] = static_cast<std::int8_t>(made.level);
    if (call.residual != nullptr) {
      call.residual[at + i] = static_cast<std::int8_t>(residual_of(made));
    }
    bits |= (made.passes ? 1U : 0U) << i;
  }
  if (call.passes != nullptr) call.passes[at / 8] = static_cast<std::uint8_t>(bits);
}
// The same for eight, aligned.
template <bool kTruncates>
__device__ void write_aligned(const QuantizeWeights& call, const LevelMaker<kTruncates>& maker,
                              const float (&values)[8], std::int64_t at) {
  MadeLevel made[8];
  std::uint32_t bits = 0;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    made[i] = maker(values[i]);
    bits |= (made[i].passes ? 1U : 0U) << i;
  }
  const auto levels = [&](int i) {
    return four_bytes(made[i].level, made[i + 1].level, made[i + 2].level, made[i + 3].level);
  };
  *reinterpret_cast<uint2*>(call.q + at) = make_uint2(levels(0), levels(4));
  if (call.residual != nullptr) {
    const auto rests = [&](int i) {
      return four_bytes(residual_of(made[i]), residual_of(made[i + 1]), residual_of(made[i + 2]),
                        residual_of(made[i + 3]));
    };
    *reinterpret_cast<uint2*>(call.residual + at) = make_uint2(rests(0), rests(4));
  }
  if (call.passes != nullptr) call.passes[at / 8] = static_cast<std::uint8_t>(bits);
}

// The greatest magnitude of the channel; kStaged: copies it to `staged`, as it lies in memory.
template <typename T, Way kWay>
__device__ float most_of_channel(const T* w, const RealTensor& channel, int elems, float* staged) {
  float most = 0;
  if constexpr (kWay == Way::kStaged) {
#pragma unroll 4
    for (int at = static_cast<int>(threadIdx.x); at < elems; at += kThreads) {
      const float value = real_of(w[at]);
      staged[at] = value;
      most = fmaxf(most, finite_magnitude(value));
    }
  } else {
    for (int at = static_cast<int>(threadIdx.x) * 8; at < elems; at += kThreads * 8) {
      float values[8];
      load_eight<T, kWay == Way::kDense>(w, channel, at, elems, values);
#pragma unroll
      for (int i = 0; i < 8; ++i) most = fmaxf(most, finite_magnitude(values[i]));
    }
  }
  return block_most(most);
}

// `rounds`: the levels are written too.
template <typename T, Way kWay, bool kTruncates>
__global__ void __launch_bounds__(kThreads)
    quantize_channels(const __grid_constant__ QuantizeWeights call, bool rounds) {
  begin_kernel();
  extern __shared__ float staged[];
  RealTensor channel = call.w;
  channel.shape[0] = 1;
  const auto elems = static_cast<int>(elems_of(channel));
  const std::int64_t o = blockIdx.x;
  const T* w = static_cast<const T*>(call.w.data) + o * call.w.strides[0];
  if (kWay == Way::kStaged || call.levels.scale_kind != ScaleKind::kGiven) {
    const float most = most_of_channel<T, kWay>(w, channel, elems, staged);
    if (threadIdx.x == 0 && call.levels.scale_kind != ScaleKind::kGiven) {
      call.scales[o] =
          symmetric_scale(most, call.levels.hi, call.levels.scale_kind == ScaleKind::kPowerOfTwo);
    }
    __syncthreads();
  }
  if (!rounds) return;
  const LevelMaker<kTruncates> maker(call.levels, call.scales[o], 0);
  for (int at = static_cast<int>(threadIdx.x) * 8; at < elems; at += kThreads * 8) {
    float values[8];
    if constexpr (kWay == Way::kStaged) {
      load_eight<float, false>(staged, channel, at, elems, values);
    } else {
      load_eight<T, kWay == Way::kDense>(w, channel, at, elems, values);
    }
    if constexpr (kWay == Way::kAny) {
      write_eight(call, maker, values, o * elems + at, elems - at);
    } else {
      write_aligned(call, maker, values, o * elems + at);
    }
  }
}

// Eight elements a thread, wherever channels begin. The scales are there.
template <typename T, bool kTruncates>
__global__ void __launch_bounds__(kThreads)
    quantize_elements(const __grid_constant__ QuantizeWeights call) {
  begin_kernel();
  const std::int64_t elems = elems_of(call.w);
  const std::int64_t of_channel = elems / call.w.shape[0];
  for (std::int64_t at = grid_thread() * 8; at < elems; at += grid_threads() * 8) {
    RealPlace place(call.w, at);
    std::uint32_t bits = 0;
    for (int i = 0; i < 8 && at + i < elems; ++i) {
      const LevelMaker<kTruncates> maker(call.levels, call.scales[(at + i) / of_channel], 0);
      const MadeLevel made =
          maker(real_of(static_cast<const T*>(call.w.data)[place.offset(call.w)]));
      call.q[at + i] = static_cast<std::int8_t>(made.level);
      if (call.residual != nullptr) {
        call.residual[at + i] = static_cast<std::int8_t>(residual_of(made));
      }
      bits |= (made.passes ? 1U : 0U) << i;
      place.advance(call.w);
    }
    if (call.passes != nullptr) call.passes[at / 8] = static_cast<std::uint8_t>(bits);
  }
}

template <typename T, bool kTruncates>
void enqueue_as(const QuantizeWeights& call, cudaStream_t stream) {
  const RealTensor& w = call.w;
  const std::int64_t of_channel = w.elems() / w.shape[0];
  if (of_channel >= (std::int64_t{1} << 30)) {
    throw_bad_input("CUDA: a channel of weights has " + std::to_string(of_channel) +
                    " elements; a GPU takes less than 2^30");
  }
  RealTensor channel = w;
  channel.shape[0] = 1;
  channel.strides[0] = channel.elems();
  const bool rounds = of_channel % 8 == 0;
  const bool writes = rounds && is_aligned(call.q, 8) && is_aligned(call.residual, 8);
  const bool dense = writes && channel.is_dense() && is_aligned(w.data, 16) &&
                     w.strides[0] % (16 / real_bytes(w.type)) == 0;
  const bool staged = writes && of_channel <= kMostStaged && is_gapless(channel);
  const auto kernel = dense    ? quantize_channels<T, Way::kDense, kTruncates>
                      : staged ? quantize_channels<T, Way::kStaged, kTruncates>
                               : quantize_channels<T, Way::kAny, kTruncates>;
  if (rounds || call.levels.scale_kind != ScaleKind::kGiven) {
    const std::int64_t shared = !dense && staged ? of_channel * std::int64_t{sizeof(float)} : 0;
    launch_kernel("launching quantize_weights", kernel, w.shape[0], kThreads,
                  static_cast<std::size_t>(shared), stream, call, rounds);
  }
  if (rounds) return;
  launch_kernel("launching quantize_weights", quantize_elements<T, kTruncates>,
                grid_stride_blocks((w.elems() + 7) / 8, kThreads), kThreads, 0, stream, call);
}

}  // namespace

std::size_t workspace_bytes(const QuantizeWeights&) { return 0; }

void enqueue(const QuantizeWeights& call, void* /*workspace*/, void* stream) {
  if (call.w.shape[0] == 0) return;
  with_real(call.w.type, [&](auto real) {
    using T = decltype(real);
    auto* const on = static_cast<cudaStream_t>(stream);
    if (call.levels.rounding == LevelRounding::kTowardZero) {
      enqueue_as<T, true>(call, on);
    } else {
      enqueue_as<T, false>(call, on);
    }
  });
}

}  // namespace qsim::golden::train::cuda
