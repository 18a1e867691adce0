// Real numbers to levels, in three ways: tensors without gaps in the order of the levels; pictures
// in NCHW memory, by tiles that are transposed in shared memory; any strides.
#include <algorithm>

#include "golden/device/launch.cuh"
#include "golden/train/cuda/forward/level_maker.cuh"
#include "golden/train/cuda/train_cuda.h"

namespace qsim::golden::train::cuda {
namespace {

using namespace golden::cuda;

constexpr int kThreads = 256;
constexpr int kVectors = 4;  // loads of a thread under way

template <bool kTruncates>
__device__ LevelMaker<kTruncates> maker_of(const QuantizeLevels& call) {
  return {call.levels, *call.scale, call.zero_point == nullptr ? 0 : *call.zero_point};
}

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

// The first `chunks` times 32 * kVectors * 16 bytes of a dense tensor, all of which are aligned.
template <typename T, bool kTruncates>
__global__ void __launch_bounds__(kThreads)
    quantize_dense(const __grid_constant__ QuantizeLevels call, std::int64_t chunks) {
  begin_kernel();
  constexpr int kCount = RealVector<T>::kCount;
  constexpr int kLanes = 32 / kCount;  // that a word of bits is from
  const int lane = static_cast<int>(threadIdx.x % 32);
  const LevelMaker<kTruncates> maker = maker_of<kTruncates>(call);
  for (std::int64_t chunk = grid_thread() / 32; chunk < chunks; chunk += grid_threads() / 32) {
    const std::int64_t first = chunk * (32 * kVectors) + lane;
    RealVector<T> reals[kVectors];
#pragma unroll
    for (int k = 0; k < kVectors; ++k) {
      reals[k] = load_vector<T>(static_cast<const T*>(call.x.data) + (first + k * 32) * kCount);
    }
#pragma unroll
    for (int k = 0; k < kVectors; ++k) {
      const MadeVector<T> made(maker, reals[k], call.residual != nullptr);
      const std::int64_t at = (first + k * 32) * kCount;
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

// A tile of planes: kPixels pixels of 64 channels. A thread has 4 channels of the pixels of 16
// bytes.
template <typename T>
struct PlaneTile {
  static constexpr int kOfThread = RealVector<T>::kCount;
  static constexpr int kPixels = 16 * kOfThread;
  static constexpr int kChannels = 64;
  static constexpr int kPitch = kChannels / 4 + 1;  // words of a pixel
  std::uint32_t levels[kPixels][kPitch];
  std::uint32_t residuals[kPixels][kPitch];
  std::uint8_t bits[kPixels][kChannels / 8];
};

// From a block's registers to the tile.
template <typename T, bool kTruncates>
__device__ void fill_tile(const QuantizeLevels& call, const LevelMaker<kTruncates>& maker,
                          const T* from, int channels_left, int pixels_left, PlaneTile<T>& tile) {
  constexpr int kCount = PlaneTile<T>::kOfThread;
  const int quad = static_cast<int>(threadIdx.x / 16);  // of channels
  const int first = static_cast<int>(threadIdx.x % 16) * kCount;
  RealVector<T> reals[4] = {};
  if (4 * quad < channels_left && first < pixels_left) {
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      reals[c] = load_vector<T>(from + (4 * quad + c) * call.x.strides[3] + first);
    }
  }
  std::uint32_t bits[kCount / 4] = {};  // a byte a pixel
#pragma unroll
  for (int p = 0; p < kCount; ++p) {
    MadeLevel made[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      made[c] = maker(real_of(reals[c].values[p]));
      bits[p / 4] |= (made[c].passes ? 1U : 0U) << (p % 4 * 8 + c);
    }
    tile.levels[first + p][quad] =
        four_bytes(made[0].level, made[1].level, made[2].level, made[3].level);
    if (call.residual != nullptr) {
      tile.residuals[first + p][quad] = four_bytes(residual_of(made[0]), residual_of(made[1]),
                                                   residual_of(made[2]), residual_of(made[3]));
    }
  }
#pragma unroll
  for (int w = 0; w < kCount / 4; ++w) {  // a quad's lanes follow those of the quad before it
    bits[w] |= __shfl_xor_sync(0xFFFFFFFFU, bits[w], 16) << 4;
    if (quad % 2 != 0) continue;
#pragma unroll
    for (int p = 0; p < 4; ++p) {
      tile.bits[first + 4 * w + p][quad / 2] = static_cast<std::uint8_t>(bits[w] >> (8 * p));
    }
  }
}

// x in NCHW memory; 16 channels and the pixels of a vector are whole.
template <typename T, bool kTruncates>
__global__ void __launch_bounds__(kThreads, 5)
    quantize_planes(const __grid_constant__ QuantizeLevels call, int pixel_tiles,
                    int channel_tiles) {
  begin_kernel();
  using Tile = PlaneTile<T>;
  __shared__ Tile tile;
  const LevelMaker<kTruncates> maker = maker_of<kTruncates>(call);
  const int pixel_tile = static_cast<int>(blockIdx.x) % pixel_tiles;
  const int channel_tile = static_cast<int>(blockIdx.x) / pixel_tiles % channel_tiles;
  const std::int64_t picture = static_cast<int>(blockIdx.x) / pixel_tiles / channel_tiles;
  const auto channels = static_cast<int>(call.x.shape[3]);
  const auto pixels = static_cast<int>(call.x.shape[1] * call.x.shape[2]);
  const int first_channel = channel_tile * Tile::kChannels;
  const int first_pixel = pixel_tile * Tile::kPixels;
  const T* from = static_cast<const T*>(call.x.data) + picture * call.x.strides[0] +
                  first_channel * call.x.strides[3] + first_pixel;
  fill_tile(call, maker, from, channels - first_channel, pixels - first_pixel, tile);
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < Tile::kPixels * 4; i += kThreads) {
    const int pixel = i / 4;
    const int channel = i % 4 * 16;
    if (first_pixel + pixel >= pixels || first_channel + channel >= channels) continue;
    const std::int64_t to =
        (picture * pixels + first_pixel + pixel) * channels + first_channel + channel;
    const std::uint32_t* words = tile.levels[pixel] + channel / 4;
    *reinterpret_cast<uint4*>(call.q + to) = make_uint4(words[0], words[1], words[2], words[3]);
    if (call.residual != nullptr) {
      const std::uint32_t* rests = tile.residuals[pixel] + channel / 4;
      *reinterpret_cast<uint4*>(call.residual + to) =
          make_uint4(rests[0], rests[1], rests[2], rests[3]);
    }
    if (call.passes != nullptr) {
      *reinterpret_cast<std::uint16_t*>(call.passes + to / 8) =
          *reinterpret_cast<const std::uint16_t*>(tile.bits[pixel] + channel / 8);
    }
  }
}

// Whether quantize_planes() takes it.
bool has_planes(const QuantizeLevels& call) {
  const RealTensor& x = call.x;
  const std::int64_t vector = 16 / real_bytes(x.type);
  const std::int64_t pixels = x.shape[1] * x.shape[2];
  return x.strides[2] == 1 && (x.strides[1] == x.shape[2] || x.shape[1] == 1) &&
         x.shape[3] % 16 == 0 && x.strides[3] % vector == 0 && x.strides[0] % vector == 0 &&
         pixels % vector == 0 && pixels < (1 << 30) && x.shape[3] < (1 << 30) &&
         is_aligned(x.data, 16) && is_aligned(call.q, 16) && is_aligned(call.residual, 16) &&
         is_aligned(call.passes, 2);
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
  using Tile = PlaneTile<T>;
  const auto parts = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  const std::int64_t pixel_tiles = parts(x.shape[1] * x.shape[2], Tile::kPixels);
  const std::int64_t channel_tiles = parts(x.shape[3], Tile::kChannels);
  const std::int64_t blocks = x.shape[0] * pixel_tiles * channel_tiles;
  if (!has_planes(call) || blocks >= (std::int64_t{1} << 31)) {
    return enqueue_any<T, kTruncates>(call, 0, stream);
  }
  launch_kernel("launching quantize_levels", quantize_planes<T, kTruncates>, blocks, kThreads, 0,
                stream, call, static_cast<int>(pixel_tiles), static_cast<int>(channel_tiles));
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
