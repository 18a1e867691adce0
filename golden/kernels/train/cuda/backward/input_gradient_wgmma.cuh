// What the blocks of input_gradient_wgmma.cu are made of. A block takes tiles of 256 pixels and 64
// channels of x: the copy engine brings the g that a tile's taps meet (a box, for each 64 channels
// of g) and the weights (a row of taps at a time); each of two warpgroups multiplies for half of
// the pixels. Channels of x are the rows of its product, pixels the columns. A tile is 16x16 pixels
// of a picture, of which a warpgroup takes 16 rows of 8, or, where pictures are small, 8x8 pixels
// of four, of which it takes two.
#pragma once

#include "golden/device/shared_memory.cuh"
#include "golden/device/tensor_map.h"
#include "golden/kernels/train/cuda/backward/bfloat16_tiles.cuh"
#include "golden/kernels/train/cuda/backward/bfloat16_wgmma.cuh"
#include "golden/kernels/train/cuda/backward/conv_geometry.h"
#include "golden/kernels/train/cuda/backward/real_values.cuh"

namespace qsim::golden::train::cuda {

inline constexpr int kTileSide = 16;
inline constexpr int kSmallSide = 8;
inline constexpr int kSmallPictures = 4;  // of a tile
inline constexpr int kTileChannels = 64;
inline constexpr int kMostTaps = 3;  // of a side
inline constexpr int kMostBoxStages = 3;
inline constexpr int kMostTapStages = 5;
// 18x18 pixels of 128 bytes, and 10x10 of four pictures, up to whole kilobytes.
inline constexpr int kTileBoxBytes = 41 * 1024;
inline constexpr int kSmallBoxBytes = 50 * 1024;
inline constexpr int kTapBytes = kTileChannels * 128;
inline constexpr int kTapStageBytes = kMostTaps * kTapBytes;
inline constexpr int kWgmmaThreads = 2 * 128 + 32;

// How shared memory is divided, and how many stages of taps the second warpgroup stays behind the
// first: while one stores its sums, the other has the tensor cores. Weights that stay take three
// stages, and their boxes three: then the second is a whole tile behind.
struct WgmmaStages {
  int boxes, taps, lead;

  constexpr int bytes(int box_bytes) const {
    return 1024 + boxes * box_bytes + taps * kTapStageBytes;
  }
};
inline constexpr WgmmaStages kResidentStages = {3, 3, 3};
inline constexpr WgmmaStages kStreamedStages = {2, 5, 2};

// How dx takes numbers: two pixels of a row at a time, four channels of a pixel, or one by one.
enum class DxOrder : std::uint8_t { kRowPairs, kChannelQuads, kAny };

struct WgmmaInputArgs {
  const std::uint8_t* passes;
  RealView dx;
  int batch, height, width, channels;
  int kernel_h, kernel_w;
  int origin_y, origin_x;             // of a tile's box, from the tile's
  int groups, in_blocks, out_blocks;  // blocks of a group
  int side, pictures;                 // of a tile
  int tiles_y, tiles_x, tiles_b, jobs;
  bool resident;  // the weights of all jobs are the same, and fit
  WgmmaStages stages;
  DxOrder order;
};

struct WgmmaBarriers {
  golden::cuda::MBarrier box_full[kMostBoxStages], box_empty[kMostBoxStages];
  golden::cuda::MBarrier taps_full[kMostTapStages], taps_empty[kMostTapStages];
};

// Tiles of one picture follow each other, for one block of channels; then the next block.
struct WgmmaJob {
  int b, y, x, in_block, group;

  __device__ WgmmaJob(const WgmmaInputArgs& args, int index) {
    in_block = index % args.in_blocks;
    int left = index / args.in_blocks;
    x = left % args.tiles_x * args.side;
    left /= args.tiles_x;
    y = left % args.tiles_y * args.side;
    left /= args.tiles_y;
    b = left % args.tiles_b * args.pictures;
    group = left / args.tiles_b;
  }
};

struct RingPlace {
  int slot = 0;
  std::uint32_t parity = 0;

  __device__ void advance(int stages) {
    if (++slot == stages) {
      slot = 0;
      parity ^= 1;
    }
  }
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// Called by one thread: all copies of the block.
__device__ inline void produce(const WgmmaInputArgs& args, const CUtensorMap& g,
                               const CUtensorMap& weights, WgmmaBarriers& barriers,
                               std::uint32_t boxes, std::uint32_t taps) {
  const auto box_bytes = static_cast<std::uint32_t>(
      args.pictures * (args.side + args.kernel_h - 1) * (args.side + args.kernel_w - 1) * 128);
  const int stage_bytes = args.side == kSmallSide ? kSmallBoxBytes : kTileBoxBytes;
  const auto tap_bytes = static_cast<std::uint32_t>(args.kernel_w * kTapBytes);
  RingPlace box, tap;
  bool has_weights = false;
  for (int i = static_cast<int>(blockIdx.x); i < args.jobs; i += static_cast<int>(gridDim.x)) {
    const WgmmaJob job(args, i);
    for (int block = 0; block < args.out_blocks; ++block) {
      barriers.box_empty[box.slot].wait(box.parity ^ 1);
      barriers.box_full[box.slot].arrive_expecting(box_bytes);
      golden::cuda::copy_box(&g, barriers.box_full[box.slot],
                             boxes + static_cast<std::uint32_t>(box.slot * stage_bytes),
                             (job.group * args.out_blocks + block) * 128, job.x + args.origin_x,
                             job.y + args.origin_y, job.b);
      box.advance(args.stages.boxes);
      if (has_weights) continue;
      const int first = ((job.group * args.in_blocks + job.in_block) * args.out_blocks + block) *
                        args.kernel_h * args.kernel_w;
      for (int row = 0; row < args.kernel_h; ++row) {
        barriers.taps_empty[tap.slot].wait(tap.parity ^ 1);
        barriers.taps_full[tap.slot].arrive_expecting(tap_bytes);
        golden::cuda::copy_box(&weights, barriers.taps_full[tap.slot],
                               taps + static_cast<std::uint32_t>(tap.slot * kTapStageBytes), 0,
                               (first + row * args.kernel_w) * kTileChannels);
        tap.advance(args.stages.taps);
      }
    }
    has_weights = args.resident;
  }
}

// A warpgroup's products of a job: 64 channels and 128 pixels. kKernelW: taps of a row; kSmall:
// tiles are of small pictures.
template <int kKernelW, bool kSmall>
class WgmmaConsumer {
 public:
  static constexpr int kPitch = (kSmall ? kSmallSide : kTileSide) + kKernelW - 1;
  static constexpr int kBoxBytes = kSmall ? kSmallBoxBytes : kTileBoxBytes;

  __device__ WgmmaConsumer(const WgmmaInputArgs& args, WgmmaBarriers& barriers, std::uint32_t boxes,
                           std::uint32_t taps, int half)
      : args_(args), barriers_(barriers) {
    picture_pixels_ = kPitch * (kSmallSide + args.kernel_h - 1);
    const int first = kSmall ? half * 2 * picture_pixels_ : half * 8;
    box_ = golden::cuda::operand<128>(boxes + static_cast<std::uint32_t>(first * 128),
                                      static_cast<std::uint32_t>(kPitch * 128));
    taps_ = golden::cuda::operand<128>(taps, 1024);
  }

  // After `lead` stages, the other warpgroup may begin.
  __device__ void multiply(float (&sums)[64], int lead) {
#pragma unroll
    for (float& sum : sums) sum = 0;
    if (args_.resident) tap_ = RingPlace{};
    for (int block = 0; block < args_.out_blocks; ++block) {
      barriers_.box_full[place_.slot].wait(place_.parity);
      for (int row = 0; row < args_.kernel_h; ++row) {
        barriers_.taps_full[tap_.slot].wait(args_.resident ? 0 : tap_.parity);
        issue_row(sums, row);
        golden::cuda::wgmma_wait<1>();
        release_last();
        released_tap_ = args_.resident ? -1 : tap_.slot;
        released_box_ = row + 1 == args_.kernel_h ? place_.slot : -1;
        tap_.advance(args_.stages.taps);
        if (--lead == 0) asm volatile("bar.arrive 1, 256;" ::: "memory");
      }
      place_.advance(args_.stages.boxes);
    }
    golden::cuda::wgmma_wait<0>();
    pin(sums);
    release_last();
  }

 private:
  __device__ void issue_row(float (&sums)[64], int row) {
    const std::uint64_t box =
        box_ + static_cast<std::uint32_t>(place_.slot * (kBoxBytes / 16) +
                                          (args_.kernel_h - 1 - row) * kPitch * 8);
    const std::uint64_t taps =
        taps_ + static_cast<std::uint32_t>(tap_.slot * (kTapStageBytes / 16));
    golden::cuda::wgmma_fence();
#pragma unroll
    for (int column = 0; column < kKernelW; ++column) {
      const std::uint64_t b = box + static_cast<std::uint32_t>((kKernelW - 1 - column) * 8);
      const std::uint64_t a = taps + static_cast<std::uint32_t>(column * (kTapBytes / 16));
#pragma unroll
      for (std::uint64_t k = 0; k < 4; ++k) {
        if constexpr (kSmall) {
          wgmma_64_of<0>(sums, a + 2 * k, b + 2 * k);
          wgmma_64_of<32>(sums, a + 2 * k,
                          b + static_cast<std::uint32_t>(picture_pixels_ * 8) + 2 * k);
        } else {
          wgmma_128(sums, a + 2 * k, b + 2 * k);
        }
      }
    }
    golden::cuda::wgmma_commit();
  }

  // The stage whose products have ended.
  __device__ void release_last() {
    __syncwarp();
    if (threadIdx.x % 32 == 0) {
      if (released_tap_ >= 0) barriers_.taps_empty[released_tap_].arrive();
      if (released_box_ >= 0) barriers_.box_empty[released_box_].arrive();
    }
    released_tap_ = released_box_ = -1;
  }

  const WgmmaInputArgs& args_;
  WgmmaBarriers& barriers_;
  std::uint64_t box_, taps_;
  int picture_pixels_;  // of a box of small pictures
  RingPlace place_, tap_;
  int released_tap_ = -1, released_box_ = -1;
};

#endif

}  // namespace qsim::golden::train::cuda
