// What the blocks of weight_gradient_wgmma.cu are made of. A block has 64 channels of g, 64 of q
// and all nine taps; its depths are pixels, in slabs. The copy engine brings the slab of g, four
// warps turn the levels that its taps meet to bfloat16, and each of three warpgroups multiplies for
// a row of taps: a tap is a shift of rows in shared memory.
#pragma once

#include "golden/device/fast_divisor.h"
#include "golden/device/shared_memory.cuh"
#include "golden/device/tensor_map.h"
#include "golden/kernels/train/cuda/backward/bfloat16_tiles.cuh"
#include "golden/kernels/train/cuda/backward/bfloat16_wgmma.cuh"

namespace qsim::golden::train::cuda {

inline constexpr int kSlabDepth = 16;  // pixels of one product
inline constexpr int kSlabStages = 5;
inline constexpr int kSlabGBytes = 8 * kSlabDepth * 128;
inline constexpr int kSlabStageBytes = kSlabGBytes + 25 * 1024;  // at most 200 pixels of levels
inline constexpr int kSlabSharedBytes = 1024 + kSlabStages * kSlabStageBytes;
inline constexpr int kSlabConsumers = 3 * 128;
inline constexpr int kSlabProducers = 128;
inline constexpr int kSlabThreads = kSlabConsumers + kSlabProducers;
// What setmaxnreg gives each, out of 128 at entry.
inline constexpr int kSlabProducerRegisters = 80;
inline constexpr int kSlabConsumerRegisters = 144;

// A slab is kRows rows of kWidth pixels of kPictures pictures.
template <int kRowsOfSlab, int kWidthOfSlab, int kPicturesOfSlab>
struct SlabShape {
  static constexpr int kRows = kRowsOfSlab;
  static constexpr int kWidth = kWidthOfSlab;
  static constexpr int kPictures = kPicturesOfSlab;
  static constexpr int kProducts = kRows * kWidth * kPictures / kSlabDepth;
  // Levels, with those around them that taps meet.
  static constexpr int kPitch = kWidth + 2;
  static constexpr int kPicturePixels = (kRows + 2) * kPitch;
  static constexpr int kPixels = kPictures * kPicturePixels;
  // Between the first 8 levels of a product and the last.
  static constexpr int kStep = kWidth == 8 ? kPitch : 8;
  static_assert(kProducts * kSlabDepth * 128 <= kSlabGBytes);
  static_assert(kPixels * 128 <= kSlabStageBytes - kSlabGBytes);

  // The level that a product's first pixel meets by its first tap.
  __device__ static constexpr int first_of(int product) {
    constexpr int kOfPicture = kProducts / kPictures;
    constexpr int kLines = kSlabDepth / kWidth;
    return product / kOfPicture * kPicturePixels + product % kOfPicture * kLines * kPitch;
  }
};

struct WgmmaWeightArgs {
  const std::int8_t* q;
  const std::int32_t* zero_point;
  float* sums;                         // [parts][out_channels][9][group_in]
  int batch, height, width, channels;  // of x
  int pad_top, pad_left;
  int out_channels, group_in, groups;
  int out_blocks, in_blocks;  // of a group
  golden::cuda::FastDivisor tiles_y, tiles_x;
  int slabs, parts;
};

struct SlabBarriers {
  golden::cuda::MBarrier full[kSlabStages], empty[kSlabStages];
};

struct SlabBlock {
  int out_block, in_block, group, part;
  int first, end;  // tiles

  __device__ explicit SlabBlock(const WgmmaWeightArgs& args) {
    int left = static_cast<int>(blockIdx.x);
    out_block = left % args.out_blocks;
    left /= args.out_blocks;
    in_block = left % args.in_blocks;
    left /= args.in_blocks;
    group = left % args.groups;
    part = left / args.groups;
    first = static_cast<int>(std::int64_t{args.slabs} * part / args.parts);
    end = static_cast<int>(std::int64_t{args.slabs} * (part + 1) / args.parts);
  }
};

struct SlabPlace {
  int slot = 0;
  std::uint32_t parity = 0;

  __device__ void advance() {
    if (++slot == kSlabStages) {
      slot = 0;
      parity ^= 1;
    }
  }
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// Runs in the producing warps.
template <typename Shape>
class SlabProducer {
 public:
  static constexpr int kPieces = Shape::kPixels * 4;  // of 16 channels of a pixel
  static constexpr int kTurns = (kPieces + kSlabProducers - 1) / kSlabProducers;

  __device__ SlabProducer(const WgmmaWeightArgs& args, const CUtensorMap& g, SlabBarriers& barriers,
                          std::uint32_t stages, const SlabBlock& block)
      : args_(args), g_(g), barriers_(barriers), stages_(stages), block_(block) {
    thread_ = static_cast<int>(threadIdx.x) - kSlabConsumers;
    const int zero_point = args.zero_point == nullptr ? 0 : *args.zero_point;
    shift_ = level_shift(zero_point);
    pads_ = static_cast<std::uint8_t>(zero_point) * 0x01010101u;
  }

  __device__ void run() {
    SlabPlace place;
    for (int slab = block_.first; slab < block_.end; ++slab) {
      const int row = args_.tiles_x.divide(slab);
      const int x = (slab - row * args_.tiles_x.divisor()) * Shape::kWidth;
      const int pictures = args_.tiles_y.divide(row);
      const int y = (row - pictures * args_.tiles_y.divisor()) * Shape::kRows;
      const int picture = pictures * Shape::kPictures;
      uint4 levels[kTurns];
      load(picture, y - args_.pad_top, x - args_.pad_left, levels);
      golden::cuda::MBarrier& full = barriers_.full[place.slot];
      const std::uint32_t stage =
          stages_ + static_cast<std::uint32_t>(place.slot * kSlabStageBytes);
      barriers_.empty[place.slot].wait(place.parity ^ 1);
      if (thread_ == 0) {
        full.arrive_expecting(Shape::kProducts * kSlabDepth * 128);
        golden::cuda::copy_box(&g_, full, stage,
                               (block_.group * args_.out_blocks + block_.out_block) * 128, x, y,
                               picture);
      }
      store(levels, stage + kSlabGBytes);
      golden::cuda::fence_shared_for_wgmma();
      full.arrive();
      place.advance();
    }
  }

 private:
  __device__ void load(int first_picture, int first_y, int first_x, uint4 (&levels)[kTurns]) const {
    const std::int8_t* from =
        args_.q + std::int64_t{first_picture} * args_.height * args_.width * args_.channels +
        (block_.group * args_.in_blocks + block_.in_block) * 64 + thread_ % 4 * 16;
#pragma unroll
    for (int i = 0; i < kTurns; ++i) {
      const int pixel = thread_ / 4 + i * (kSlabProducers / 4);
      const int picture = pixel / Shape::kPicturePixels;
      const int of_picture = pixel % Shape::kPicturePixels;
      const int y = first_y + of_picture / Shape::kPitch;
      const int x = first_x + of_picture % Shape::kPitch;
      levels[i] = {pads_, pads_, pads_, pads_};
      if (y >= 0 && y < args_.height && x >= 0 && x < args_.width && pixel < Shape::kPixels &&
          first_picture + picture < args_.batch) {
        const std::int64_t line = std::int64_t{picture} * args_.height + y;
        levels[i] =
            __ldg(reinterpret_cast<const uint4*>(from + (line * args_.width + x) * args_.channels));
      }
    }
  }

  __device__ void store(const uint4 (&levels)[kTurns], std::uint32_t to) const {
    const int chunk = thread_ % 4 * 2;
#pragma unroll
    for (int i = 0; i < kTurns; ++i) {
      const int pixel = thread_ / 4 + i * (kSlabProducers / 4);
      if (pixel >= Shape::kPixels) break;
      store_16(to + in_rows_of_128(pixel, chunk), eight_levels({levels[i].x, levels[i].y}, shift_));
      store_16(to + in_rows_of_128(pixel, chunk + 1),
               eight_levels({levels[i].z, levels[i].w}, shift_));
    }
  }

  const WgmmaWeightArgs& args_;
  const CUtensorMap& g_;
  SlabBarriers& barriers_;
  std::uint32_t stages_;
  const SlabBlock& block_;
  int thread_;
  float shift_;
  std::uint32_t pads_;
};

// The warpgroup of a row of taps multiplies 64 channels of g by 64 of q for each of three taps.
template <typename Shape>
__device__ inline void multiply_slabs(const SlabBlock& block, SlabBarriers& barriers,
                                      std::uint32_t stages, int tap_row, float (&sums)[3][32]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32 % 4;
  // A product has 16 pixels of g: the lane's half takes 8 of them, the warp 16 channels.
  const std::uint32_t in_row = in_rows_of_128(lane / 16 * 8 + lane % 8, warp * 2 + lane / 8 % 2);
  const std::uint64_t levels = golden::cuda::operand<128>(
      stages + static_cast<std::uint32_t>(kSlabGBytes + tap_row * Shape::kPitch * 128),
      Shape::kStep * 128);
  SlabPlace place;
  for (int slab = block.first; slab < block.end; ++slab) {
    const auto stage = static_cast<std::uint32_t>(place.slot * kSlabStageBytes);
    barriers.full[place.slot].wait(place.parity);
    std::uint32_t g[2][4];
#pragma unroll
    for (int i = 0; i < Shape::kProducts; ++i) {
      load_turned(g[i % 2],
                  stages + stage + in_row + static_cast<std::uint32_t>(i * kSlabDepth * 128));
      const std::uint64_t b =
          levels + stage / 16 + static_cast<std::uint32_t>(Shape::first_of(i) * 8);
      golden::cuda::wgmma_fence();
#pragma unroll
      for (int tap = 0; tap < 3; ++tap) {
        wgmma_turned_64(sums[tap], g[i % 2], b + static_cast<std::uint32_t>(tap * 8));
      }
      golden::cuda::wgmma_commit();
      if (i + 1 < Shape::kProducts) golden::cuda::wgmma_wait<1>();
    }
    golden::cuda::wgmma_wait<0>();
    __syncwarp();
    if (lane == 0) barriers.empty[place.slot].arrive();
    place.advance();
  }
#pragma unroll
  for (int tap = 0; tap < 3; ++tap) pin(sums[tap]);
}

__device__ inline void store_slab_sums(const WgmmaWeightArgs& args, const SlabBlock& block,
                                       int tap_row, const float (&sums)[3][32]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32 % 4;
  const int depth = 9 * args.group_in;
  const std::int64_t row = (std::int64_t{block.part} * args.out_channels) +
                           (block.group * args.out_blocks + block.out_block) * 64 + warp * 16 +
                           lane / 4;
#pragma unroll
  for (int tap = 0; tap < 3; ++tap) {
    float* to = args.sums + row * depth + (tap_row * 3 + tap) * args.group_in +
                block.in_block * 64 + lane % 4 * 2;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      *reinterpret_cast<float2*>(to + 8 * j) = {sums[tap][4 * j], sums[tap][4 * j + 1]};
      *reinterpret_cast<float2*>(to + 8 * depth + 8 * j) = {sums[tap][4 * j + 2],
                                                            sums[tap][4 * j + 3]};
    }
  }
}

#endif

}  // namespace qsim::golden::train::cuda
