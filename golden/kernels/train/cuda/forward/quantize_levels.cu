// Real numbers to levels, in three ways: tensors without gaps in the order of the levels; pictures
// in NCHW memory, by tiles that are transposed in shared memory; any strides.
#include <algorithm>

#include "golden/device/launch.cuh"
#include "golden/kernels/train/cuda/forward/quantize_planes.cuh"
#include "golden/kernels/train/cuda/train_cuda.h"

namespace qsim::golden::train::cuda {
namespace {

using namespace golden::cuda;

constexpr int kThreads = 256;
constexpr int kVectors = 4;  // loads of a thread under way

// Level bytes, residual bytes and bits of 16 bytes of reals.
template <typename T>
struct MadeVector {
  static constexpr int kCount = RealVector<T>::kCount;
  std::uint32_t levels[kCount / 4];
  std::uint32_t residuals[kCount / 4];
  std::uint32_t bits;

  template <bool kTruncates>
  __device__ MadeVector(const LevelMaker<kTruncates>& maker, const RealVector<T>& reals,
                        bool residual)
      : bits(0) {
    MadeLevel made[kCount];
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      made[i] = maker(real_of(reals.values[i]));
      bits |= (made[i].passes ? 1U : 0U) << i;
    }
#pragma unroll
    for (int i = 0; i < kCount; i += 4) {
      levels[i / 4] =
          four_bytes(made[i].level, made[i + 1].level, made[i + 2].level, made[i + 3].level);
      residuals[i / 4] = residual ? four_bytes(residual_of(made[i]), residual_of(made[i + 1]),
                                               residual_of(made[i + 2]), residual_of(made[i + 3]))
                                  : 0;
    }
  }
};

template <int kCount>
__device__ void store_words(std::int8_t* to, const std::uint32_t (&words)[kCount]) {
  if constexpr (kCount == 1) {
    *reinterpret_cast<std::uint32_t*>(to) = words[0];
  } else {
    *reinterpret_cast<uint2*>(to) = make_uint2(words[0], words[1]);
  }
}

// A warp's chunk is 32 * kVectors * 16 bytes of a dense tensor, aligned. This one's reals are easy.
template <typename T, bool kTruncates>
__device__ void write_easy_levels(const QuantizeLevels& call, const LevelMaker<kTruncates>& maker,
                                  const RealVector<T> (&reals)[kVectors], std::int64_t chunk) {
  constexpr int kCount = RealVector<T>::kCount;
  const int lane = static_cast<int>(threadIdx.x % 32);
  std::int8_t* to = call.q + (chunk * (32 * kVectors) + lane) * kCount;
#pragma unroll
  for (int k = 0; k < kVectors; ++k) {
    std::uint32_t words[kCount / 4];
#pragma unroll
    for (int i = 0; i < kCount; i += 4) {
      const auto level = [&](int j) { return maker.easy_level(real_of(reals[k].values[i + j])); };
      words[i / 4] = four_bytes(level(0), level(1), level(2), level(3));
    }
    store_words(to + k * 32 * kCount, words);
  }
  constexpr int kBitWords = kVectors * kCount;
  static_assert(kBitWords <= 32);
  if (call.passes != nullptr && lane < kBitWords) {
    reinterpret_cast<std::uint32_t*>(call.passes)[chunk * kBitWords + lane] = 0xFFFFFFFFU;
  }
}

template <typename T, bool kTruncates>
__device__ void write_levels(const QuantizeLevels& call, const LevelMaker<kTruncates>& maker,
                             const RealVector<T> (&reals)[kVectors], std::int64_t chunk) {
  constexpr int kCount = RealVector<T>::kCount;
  constexpr int kLanes = 32 / kCount;  // that a word of bits is from
  const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
  for (int k = 0; k < kVectors; ++k) {
    const MadeVector<T> made(maker, reals[k], call.residual != nullptr);
    const std::int64_t at = (chunk * (32 * kVectors) + lane + k * 32) * kCount;
    store_words(call.q + at, made.levels);
    if (call.residual != nullptr) store_words(call.residual + at, made.residuals);
    if (call.passes == nullptr) continue;
    std::uint32_t bits = made.bits << (lane % kLanes * kCount);
#pragma unroll
    for (int step = 1; step < kLanes; step *= 2) {
      bits |= __shfl_xor_sync(0xFFFFFFFFU, bits, step);
    }
    if (lane % kLanes == 0) reinterpret_cast<std::uint32_t*>(call.passes)[at / 32] = bits;
  }
}

template <typename T>
__device__ void load_chunk(const QuantizeLevels& call, std::int64_t chunk,
                           RealVector<T> (&reals)[kVectors]) {
  constexpr int kCount = RealVector<T>::kCount;
  const int lane = static_cast<int>(threadIdx.x % 32);
  const T* from = static_cast<const T*>(call.x.data) + (chunk * (32 * kVectors) + lane) * kCount;
#pragma unroll
  for (int k = 0; k < kVectors; ++k) reals[k] = load_vector_once<T>(from + k * 32 * kCount);
}

// The first `chunks`. From the last to the first: what the observer read last is still in the
// cache.
template <typename T, bool kTruncates>
__global__ void __launch_bounds__(kThreads)
    quantize_dense(const __grid_constant__ QuantizeLevels call, std::int64_t chunks) {
  begin_kernel();
  constexpr int kCount = RealVector<T>::kCount;
  const auto from_last = [&](std::int64_t i) { return chunks - 1 - i; };
  std::int64_t i = grid_thread() / 32;
  if (i >= chunks) return;
  RealVector<T> reals[kVectors];
  load_chunk(call, from_last(i), reals);  // before the scale is waited for
  const LevelMaker<kTruncates> maker = maker_of<kTruncates>(call);
  while (true) {
    bool is_easy = call.residual == nullptr;
#pragma unroll
    for (int k = 0; k < kVectors; ++k) {
#pragma unroll
      for (int e = 0; e < kCount; ++e) {
        is_easy = is_easy & maker.is_easy(real_of(reals[k].values[e]));
      }
    }
    if (__all_sync(0xFFFFFFFFU, is_easy)) {
      write_easy_levels(call, maker, reals, from_last(i));
    } else {
      write_levels(call, maker, reals, from_last(i));
    }
    i += grid_threads() / 32;
    if (i >= chunks) return;
    load_chunk(call, from_last(i), reals);
  }
}

// Eight elements a thread, of any strides, from element `first` on.
template <typename T, bool kTruncates>
__global__ void __launch_bounds__(kThreads)
    quantize_any(const __grid_constant__ QuantizeLevels call, std::int64_t first) {
  begin_kernel();
  const LevelMaker<kTruncates> maker = maker_of<kTruncates>(call);
  const std::int64_t elems = elems_of(call.x);
  for (std::int64_t at = first + grid_thread() * 8; at < elems; at += grid_threads() * 8) {
    RealPlace place(call.x, at);
    std::uint32_t bits = 0;
    for (int i = 0; i < 8 && at + i < elems; ++i) {
      const MadeLevel made =
          maker(real_of(static_cast<const T*>(call.x.data)[place.offset(call.x)]));
      call.q[at + i] = static_cast<std::int8_t>(made.level);
      if (call.residual != nullptr) {
        call.residual[at + i] = static_cast<std::int8_t>(residual_of(made));
      }
      bits |= (made.passes ? 1U : 0U) << i;
      place.advance(call.x);
    }
    if (call.passes != nullptr) call.passes[at / 8] = static_cast<std::uint8_t>(bits);
  }
}

template <typename T, bool kTruncates>
void enqueue_any(const QuantizeLevels& call, std::int64_t first, cudaStream_t stream) {
  const std::int64_t items = (call.x.elems() - first + 7) / 8;
  if (items == 0) return;
  launch_kernel("launching quantize_levels", quantize_any<T, kTruncates>,
                grid_stride_blocks(items, kThreads), kThreads, 0, stream, call, first);
}

template <typename T, bool kTruncates>
void enqueue_dense(const QuantizeLevels& call, cudaStream_t stream) {
  constexpr std::int64_t kChunk = 32 * kVectors * RealVector<T>::kCount;
  const std::int64_t chunks = call.x.elems() / kChunk;
  if (chunks > 0) {
    const std::int64_t blocks = grid_stride_blocks(chunks * 32, kThreads);
    launch_kernel("launching quantize_levels", quantize_dense<T, kTruncates>, blocks, kThreads, 0,
                  stream, call, chunks);
  }
  enqueue_any<T, kTruncates>(call, chunks * kChunk, stream);
}

template <typename T, bool kTruncates>
void enqueue_as(const QuantizeLevels& call, cudaStream_t stream) {
  const RealTensor& x = call.x;
  if (x.is_dense() && is_aligned(x.data, 16) && is_aligned(call.q, 8) &&
      is_aligned(call.residual, 8) && is_aligned(call.passes, 4)) {
    return enqueue_dense<T, kTruncates>(call, stream);
  }
  if (!launch_planes<T, kTruncates>(call, stream)) enqueue_any<T, kTruncates>(call, 0, stream);
}

}  // namespace

std::size_t workspace_bytes(const QuantizeLevels&) { return 0; }

void enqueue(const QuantizeLevels& call, void* /*workspace*/, void* stream) {
  if (call.x.elems() == 0) return;
  with_real(call.x.type, [&](auto real) {
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
