// Real numbers in NCHW memory to levels, by tiles that are transposed in shared memory.
#pragma once

#include "golden/device/launch.cuh"
#include "golden/kernels/train/cuda/forward/level_maker.cuh"

namespace qsim::golden::train::cuda {

using namespace golden::cuda;

inline constexpr int kPlaneThreads = 256;

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

// Four channels of the pixels of 16 bytes; zeros where there are none.
template <typename T>
struct PlaneReals {
  int quad;   // of channels
  int first;  // pixel
  RealVector<T> reals[4] = {};

  __device__ PlaneReals(const QuantizeLevels& call, const T* from, int channels_left,
                        int pixels_left)
      : quad(static_cast<int>(threadIdx.x / 16)),
        first(static_cast<int>(threadIdx.x % 16) * PlaneTile<T>::kOfThread) {
    if (4 * quad >= channels_left || first >= pixels_left) return;
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      reals[c] = load_vector_once<T>(from + (4 * quad + c) * call.x.strides[3] + first);
    }
  }
};

// Writes the levels to the tile where all of the warp's are easy; else returns false.
template <typename T, bool kTruncates>
__device__ bool put_easy_levels(const QuantizeLevels& call, const LevelMaker<kTruncates>& maker,
                                const PlaneReals<T>& from, PlaneTile<T>& tile) {
  bool is_easy = call.residual == nullptr;
#pragma unroll
  for (int c = 0; c < 4; ++c) {
#pragma unroll
    for (int p = 0; p < PlaneTile<T>::kOfThread; ++p) {
      is_easy = is_easy & maker.is_easy(real_of(from.reals[c].values[p]));
    }
  }
  if (!__all_sync(0xFFFFFFFFU, is_easy)) return false;
#pragma unroll
  for (int p = 0; p < PlaneTile<T>::kOfThread; ++p) {
    const auto level = [&](int c) { return maker.easy_level(real_of(from.reals[c].values[p])); };
    tile.levels[from.first + p][from.quad] = four_bytes(level(0), level(1), level(2), level(3));
  }
  return true;
}

// `bits`: a byte a pixel.
template <typename T, bool kTruncates>
__device__ void put_levels(const QuantizeLevels& call, const LevelMaker<kTruncates>& maker,
                           const PlaneReals<T>& from, PlaneTile<T>& tile,
                           std::uint32_t (&bits)[PlaneTile<T>::kOfThread / 4]) {
#pragma unroll
  for (int p = 0; p < PlaneTile<T>::kOfThread; ++p) {
    MadeLevel made[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      made[c] = maker(real_of(from.reals[c].values[p]));
      bits[p / 4] |= (made[c].passes ? 1U : 0U) << (p % 4 * 8 + c);
    }
    tile.levels[from.first + p][from.quad] =
        four_bytes(made[0].level, made[1].level, made[2].level, made[3].level);
    if (call.residual != nullptr) {
      tile.residuals[from.first + p][from.quad] = four_bytes(
          residual_of(made[0]), residual_of(made[1]), residual_of(made[2]), residual_of(made[3]));
    }
  }
}

// Writes the levels of a block's registers to the tile.
template <typename T, bool kTruncates>
__device__ void fill_tile(const QuantizeLevels& call, const LevelMaker<kTruncates>& maker,
                          const PlaneReals<T>& from, PlaneTile<T>& tile) {
  constexpr int kCount = PlaneTile<T>::kOfThread;
  std::uint32_t bits[kCount / 4] = {};
  if (put_easy_levels(call, maker, from, tile)) {
#pragma unroll
    for (std::uint32_t& word : bits) word = 0x0F0F0F0FU;
  } else {
    put_levels(call, maker, from, tile, bits);
  }
#pragma unroll
  for (int w = 0; w < kCount / 4; ++w) {  // a quad's lanes follow those of the quad before it
    bits[w] |= __shfl_xor_sync(0xFFFFFFFFU, bits[w], 16) << 4;
    if (from.quad % 2 != 0) continue;
#pragma unroll
    for (int p = 0; p < 4; ++p) {
      tile.bits[from.first + 4 * w + p][from.quad / 2] =
          static_cast<std::uint8_t>(bits[w] >> (8 * p));
    }
  }
}

// x in NCHW memory; 16 channels and the pixels of a vector are whole.
template <typename T, bool kTruncates>
__global__ void __launch_bounds__(kPlaneThreads, sizeof(T) == 4 ? 5 : 4)
    quantize_planes(const __grid_constant__ QuantizeLevels call, int pixel_tiles,
                    int channel_tiles) {
  begin_kernel();
  using Tile = PlaneTile<T>;
  __shared__ Tile tile;
  const int from_last = static_cast<int>(gridDim.x - 1 - blockIdx.x);  // as quantize_dense()
  const int pixel_tile = from_last % pixel_tiles;
  const int channel_tile = from_last / pixel_tiles % channel_tiles;
  const std::int64_t picture = from_last / pixel_tiles / channel_tiles;
  const auto channels = static_cast<int>(call.x.shape[3]);
  const auto pixels = static_cast<int>(call.x.shape[1] * call.x.shape[2]);
  const int first_channel = channel_tile * Tile::kChannels;
  const int first_pixel = pixel_tile * Tile::kPixels;
  const T* from = static_cast<const T*>(call.x.data) + picture * call.x.strides[0] +
                  first_channel * call.x.strides[3] + first_pixel;
  const PlaneReals<T> reals(call, from, channels - first_channel, pixels - first_pixel);
  fill_tile(call, maker_of<kTruncates>(call), reals, tile);
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < Tile::kPixels * 4; i += kPlaneThreads) {
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
inline bool has_planes(const QuantizeLevels& call) {
  const RealTensor& x = call.x;
  const std::int64_t vector = 16 / real_bytes(x.type);
  const std::int64_t pixels = x.shape[1] * x.shape[2];
  return x.strides[2] == 1 && (x.strides[1] == x.shape[2] || x.shape[1] == 1) &&
         x.shape[3] % 16 == 0 && x.strides[3] % vector == 0 && x.strides[0] % vector == 0 &&
         pixels % vector == 0 && pixels < (1 << 30) && x.shape[3] < (1 << 30) &&
         is_aligned(x.data, 16) && is_aligned(call.q, 16) && is_aligned(call.residual, 16) &&
         is_aligned(call.passes, 2);
}

// False where x is not so: then nothing is enqueued.
template <typename T, bool kTruncates>
bool launch_planes(const QuantizeLevels& call, cudaStream_t stream) {
  using Tile = PlaneTile<T>;
  const RealTensor& x = call.x;
  const auto parts = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  const std::int64_t pixel_tiles = parts(x.shape[1] * x.shape[2], Tile::kPixels);
  const std::int64_t channel_tiles = parts(x.shape[3], Tile::kChannels);
  const std::int64_t blocks = x.shape[0] * pixel_tiles * channel_tiles;
  if (!has_planes(call) || blocks >= (std::int64_t{1} << 31)) return false;
  launch_kernel("launching quantize_levels", quantize_planes<T, kTruncates>, blocks, kPlaneThreads,
                0, stream, call, static_cast<int>(pixel_tiles), static_cast<int>(channel_tiles));
  return true;
}

}  // namespace qsim::golden::train::cuda
