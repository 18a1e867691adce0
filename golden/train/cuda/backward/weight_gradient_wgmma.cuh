// What the blocks of weight_gradient_wgmma.cu are made of. A block has 64 channels of g, 64 of q
// and all nine taps; its depths are pixels, in tiles 16 wide and kRows high. The copy engine brings
// the tile of g, four warps turn the levels that its taps meet to bfloat16, and each of three
// warpgroups multiplies for a row of taps: a tap is a shift of rows in shared memory.
#pragma once

#include "golden/device/fast_divisor.h"
#include "golden/device/shared_memory.cuh"
#include "golden/device/tensor_map.h"
#include "golden/train/cuda/backward/bfloat16_tiles.cuh"
#include "golden/train/cuda/backward/bfloat16_wgmma.cuh"

namespace qsim::golden::train::cuda {

inline constexpr int kSlabWidth = 16;
inline constexpr int kSlabPitch = kSlabWidth + 2;  // of levels
inline constexpr int kSlabMostRows = 8;
inline constexpr int kSlabStages = 5;
inline constexpr int kSlabGBytes = kSlabMostRows * kSlabWidth * 128;
inline constexpr int kSlabStageBytes = kSlabGBytes + 23 * 1024;  // 180 pixels of levels
inline constexpr int kSlabSharedBytes = 1024 + kSlabStages * kSlabStageBytes;
inline constexpr int kSlabConsumers = 3 * 128;
inline constexpr int kSlabProducers = 128;
inline constexpr int kSlabThreads = kSlabConsumers + kSlabProducers;
// What setmaxnreg gives each, out of 128 at entry.
inline constexpr int kSlabProducerRegisters = 56;
inline constexpr int kSlabConsumerRegisters = 152;

struct WgmmaWeightArgs {
  const std::int8_t* q;
  const std::int32_t* zero_point;
  float* sums;                  // [parts][out_channels][9][group_in]
  int height, width, channels;  // of x
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

// By the producing warps.
template <int kRows>
class SlabProducer {
 public:
  static constexpr int kPieces = (kRows + 2) * kSlabPitch * 4;  // of 16 channels of a pixel
  static constexpr int kTurns = (kPieces + kSlabProducers - 1) / kSlabProducers;

  __device__ SlabProducer(const WgmmaWeightArgs& args, const CUtensorMap& g, SlabBarriers& barriers,
                          std::uint32_t stages, const SlabBlock& block)
      : args_(args), g_(g), barriers_(barriers), stages_(stages), block_(block) {
    thread_ = static_cast<int>(threadIdx.x) - kSlabConsumers;
    const int zero_point = args.zero_point == nullptr ? 0 : __ldg(args.zero_point);
    shift_ = level_shift(zero_point);
    pads_ = static_cast<std::uint8_t>(zero_point) * 0x01010101u;
  }

  __device__ void run() {
    SlabPlace place;
    for (int slab = block_.first; slab < block_.end; ++slab) {
      const int row = args_.tiles_x.divide(slab);
      const int x = (slab - row * args_.tiles_x.divisor()) * kSlabWidth;
      const int picture = args_.tiles_y.divide(row);
      const int y = (row - picture * args_.tiles_y.divisor()) * kRows;
      uint4 levels[kTurns];
      load(picture, y - args_.pad_top, x - args_.pad_left, levels);
      golden::cuda::MBarrier& full = barriers_.full[place.slot];
      const std::uint32_t stage =
          stages_ + static_cast<std::uint32_t>(place.slot * kSlabStageBytes);
      barriers_.empty[place.slot].wait(place.parity ^ 1);
      if (thread_ == 0) {
        full.arrive_expecting(kRows * kSlabWidth * 128);
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
  __device__ void load(int picture, int first_y, int first_x, uint4 (&levels)[kTurns]) const {
    const std::int8_t* from =
        args_.q + std::int64_t{picture} * args_.height * args_.width * args_.channels +
        (block_.group * args_.in_blocks + block_.in_block) * 64 + thread_ % 4 * 16;
#pragma unroll
    for (int i = 0; i < kTurns; ++i) {
      const int pixel = thread_ / 4 + i * (kSlabProducers / 4);
      const int y = first_y + pixel / kSlabPitch;
      const int x = first_x + pixel % kSlabPitch;
      levels[i] = {pads_, pads_, pads_, pads_};
      if (y >= 0 && y < args_.height && x >= 0 && x < args_.width &&
          pixel < (kRows + 2) * kSlabPitch) {
        levels[i] = __ldg(reinterpret_cast<const uint4*>(
            from + (std::int64_t{y} * args_.width + x) * args_.channels));
      }
    }
  }

  __device__ void store(const uint4 (&levels)[kTurns], std::uint32_t to) const {
    const int chunk = thread_ % 4 * 2;
#pragma unroll
    for (int i = 0; i < kTurns; ++i) {
      const int pixel = thread_ / 4 + i * (kSlabProducers / 4);
      if (pixel >= (kRows + 2) * kSlabPitch) break;
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

// By the warpgroup of a row of taps: 64 channels of g by 64 of q for each of three taps.
template <int kRows>
__device__ inline void multiply_slabs(const SlabBlock& block, SlabBarriers& barriers,
                                      std::uint32_t stages, int tap_row, float (&sums)[3][32]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32 % 4;
  // Of a row of 16 pixels of g: 8 pixels by the lane's half, 16 channels of the warp.
  const std::uint32_t in_row = in_rows_of_128(lane / 16 * 8 + lane % 8, warp * 2 + lane / 8 % 2);
  const std::uint64_t levels = golden::cuda::operand<128>(
      stages + static_cast<std::uint32_t>(kSlabGBytes + tap_row * kSlabPitch * 128), 1024);
  SlabPlace place;
  for (int slab = block.first; slab < block.end; ++slab) {
    const auto stage = static_cast<std::uint32_t>(place.slot * kSlabStageBytes);
    barriers.full[place.slot].wait(place.parity);
    std::uint32_t g[2][4];
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      load_turned(g[row % 2],
                  stages + stage + in_row + static_cast<std::uint32_t>(row * kSlabWidth * 128));
      const std::uint64_t b =
          levels + stage / 16 + static_cast<std::uint32_t>(row * kSlabPitch * 8);
      golden::cuda::wgmma_fence();
#pragma unroll
      for (int tap = 0; tap < 3; ++tap) {
        wgmma_turned_64(sums[tap], g[row % 2], b + static_cast<std::uint32_t>(tap * 8));
      }
      golden::cuda::wgmma_commit();
      if (row + 1 < kRows) golden::cuda::wgmma_wait<1>();
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
