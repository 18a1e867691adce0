// What the blocks of input_gradient_wgmma.cu are made of. A block takes tiles of 16x16 pixels and
// 64 channels of x: the copy engine brings the g that a tile's taps meet (a box, for each 64
// channels of g) and the weights (a row of taps at a time); each of two warpgroups multiplies for
// 8x16 pixels. Channels of x are the rows of its product, pixels the columns.
#pragma once

#include "golden/device/shared_memory.cuh"
#include "golden/device/tensor_map.h"
#include "golden/train/cuda/backward/bfloat16_tiles.cuh"
#include "golden/train/cuda/backward/bfloat16_wgmma.cuh"
#include "golden/train/cuda/backward/conv_geometry.h"
#include "golden/train/cuda/backward/real_values.cuh"

namespace qsim::golden::train::cuda {

inline constexpr int kTileSide = 16;
inline constexpr int kTileChannels = 64;
inline constexpr int kMostTaps = 3;  // of a side
inline constexpr int kMostBoxStages = 3;
inline constexpr int kMostTapStages = 5;
inline constexpr int kBoxBytes = 41 * 1024;  // 18x18 pixels of 128 bytes, up to whole kilobytes
inline constexpr int kTapBytes = kTileChannels * 128;
inline constexpr int kTapStageBytes = kMostTaps * kTapBytes;
inline constexpr int kWgmmaThreads = 2 * 128 + 32;

// How shared memory is divided, and how many stages of taps the second warpgroup stays behind the
// first: while one stores its sums, the other has the tensor cores. Weights that stay take three
// stages, and their boxes three: then the second is a whole tile behind.
struct WgmmaStages {
  int boxes, taps, lead;

  constexpr int bytes() const { return 1024 + boxes * kBoxBytes + taps * kTapStageBytes; }
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
  int tiles_y, tiles_x, jobs;
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
    x = left % args.tiles_x * kTileSide;
    left /= args.tiles_x;
    y = left % args.tiles_y * kTileSide;
    left /= args.tiles_y;
    b = left % args.batch;
    group = left / args.batch;
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

// By one thread: all copies of the block.
__device__ inline void produce(const WgmmaInputArgs& args, const CUtensorMap& g,
                               const CUtensorMap& weights, WgmmaBarriers& barriers,
                               std::uint32_t boxes, std::uint32_t taps) {
  const std::uint32_t box_bytes = static_cast<std::uint32_t>((kTileSide + args.kernel_h - 1) *
                                                             (kTileSide + args.kernel_w - 1) * 128);
  const auto tap_bytes = static_cast<std::uint32_t>(args.kernel_w * kTapBytes);
  RingPlace box, tap;
  bool has_weights = false;
  for (int i = static_cast<int>(blockIdx.x); i < args.jobs; i += static_cast<int>(gridDim.x)) {
    const WgmmaJob job(args, i);
    for (int block = 0; block < args.out_blocks; ++block) {
      barriers.box_empty[box.slot].wait(box.parity ^ 1);
      barriers.box_full[box.slot].arrive_expecting(box_bytes);
      golden::cuda::copy_box(&g, barriers.box_full[box.slot],
                             boxes + static_cast<std::uint32_t>(box.slot * kBoxBytes),
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

// A warpgroup's products of a job: 64 channels and 8x16 pixels. kKernelW: taps of a row.
template <int kKernelW>
class WgmmaConsumer {
 public:
  static constexpr int kPitch = kTileSide + kKernelW - 1;

  __device__ WgmmaConsumer(const WgmmaInputArgs& args, WgmmaBarriers& barriers, std::uint32_t boxes,
                           std::uint32_t taps, int half)
      : args_(args), barriers_(barriers) {
    box_ = golden::cuda::operand<128>(boxes + static_cast<std::uint32_t>(half * 8 * 128),
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
        wgmma_128(sums, a + 2 * k, b + 2 * k);
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
  RingPlace place_, tap_;
  int released_tap_ = -1, released_box_ = -1;
};

// Sums to dx. A thread has two channels, eight apart, and two pixels of each row of the tile. Made
// before the products, so that the bits of `passes` are there after them.
class TileStore {
 public:
  __device__ TileStore(const WgmmaInputArgs& args, const WgmmaJob& job, int half) : args_(args) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32 % 4;
    const int first = (job.group * args.in_blocks + job.in_block) * kTileChannels + warp * 16;
    const int x = job.x + half * 8 + lane % 4 * 2;
    channel_ = lane / 4;
    pixels_ = min(args.width - x, 2);
    rows_ = min(kTileSide, args.height - job.y);
    at_ = job.b * args.dx.stride_b + job.y * args.dx.stride_h + x * args.dx.stride_w +
          (first + channel_) * args.dx.stride_c;
    const std::int64_t bits =
        (((std::int64_t{job.b} * args.height + job.y) * args.width + x) * args.channels + first) /
        8;
#pragma unroll
    for (int j = 0; j < kTileSide; ++j) {
#pragma unroll
      for (int pixel = 0; pixel < 2; ++pixel) {
        bits_[j][pixel] = 0xFFFF;
        if (args.passes == nullptr || j >= rows_ || pixel >= pixels_) continue;
        bits_[j][pixel] = __ldg(reinterpret_cast<const std::uint16_t*>(
            args.passes + bits + (std::int64_t{j} * args.width + pixel) * (args.channels / 8)));
      }
    }
  }

  __device__ void store(const float (&sums)[64]) const {
    switch (args_.dx.type) {
      case RealType::kFloat32:
        return store_as<RealType::kFloat32>(sums);
      case RealType::kFloat16:
        return store_as<RealType::kFloat16>(sums);
      default:
        return store_as<RealType::kBfloat16>(sums);
    }
  }

 private:
  template <RealType kType>
  __device__ void store_as(const float (&sums)[64]) const {
    switch (args_.order) {
      case DxOrder::kRowPairs:
        return store_in<kType, DxOrder::kRowPairs>(sums);
      case DxOrder::kChannelQuads:
        return store_in<kType, DxOrder::kChannelQuads>(sums);
      default:
        return store_in<kType, DxOrder::kAny>(sums);
    }
  }

  template <RealType kType, DxOrder kOrder>
  __device__ void store_in(const float (&sums)[64]) const {
    std::int64_t at = at_;
#pragma unroll
    for (int j = 0; j < kTileSide; ++j) {
      if (j >= rows_) break;
      const float2 lower = passing(j, channel_, sums[4 * j], sums[4 * j + 1]);
      const float2 upper = passing(j, channel_ + 8, sums[4 * j + 2], sums[4 * j + 3]);
      if constexpr (kOrder == DxOrder::kChannelQuads) {
        store_four<kType>(at, lower, upper);
      } else {
        store_two<kType, kOrder>(at, lower);
        store_two<kType, kOrder>(at + 8 * args_.dx.stride_c, upper);
      }
      at += args_.dx.stride_h;
    }
  }

  __device__ float2 passing(int j, int bit, float first, float second) const {
    return {(bits_[j][0] >> bit & 1) != 0 ? first : 0.0F,
            (bits_[j][1] >> bit & 1) != 0 ? second : 0.0F};
  }

  // Two pixels of a channel.
  template <RealType kType, DxOrder kOrder>
  __device__ void store_two(std::int64_t at, float2 two) const {
    const RealView& dx = args_.dx;
    if (kOrder == DxOrder::kRowPairs && pixels_ == 2) {
      store_pair(dx.data, kType, at, two);
    } else {
      if (pixels_ > 0) store_real(dx.data, kType, at, two.x);
      if (pixels_ > 1) store_real(dx.data, kType, at + dx.stride_w, two.y);
    }
  }

  // After two exchanges, four channels of a pixel: lanes of odd channels take the second pixel, and
  // those whose channels are 2 or 3 mod 4 the upper eight.
  template <RealType kType>
  __device__ void store_four(std::int64_t at, float2 lower, float2 upper) const {
    const int odd = channel_ & 1;
    const int above = channel_ >> 1 & 1;
    const float2 low = channels_of(odd, lower);
    const float2 high = channels_of(odd, upper);
    const float2 sent = above != 0 ? low : high;
    const float2 got = {__shfl_xor_sync(0xFFFFFFFFu, sent.x, 8),
                        __shfl_xor_sync(0xFFFFFFFFu, sent.y, 8)};
    if (odd >= pixels_) return;
    const float2 first = above != 0 ? got : low;
    const float2 second = above != 0 ? high : got;
    store_quad(args_.dx.data, kType, at + odd * args_.dx.stride_w + 8 * above - (channel_ & 3),
               {first.x, first.y, second.x, second.y});
  }

  // Two channels of one of the two pixels.
  __device__ static float2 channels_of(int odd, float2 two) {
    const float got = __shfl_xor_sync(0xFFFFFFFFu, odd != 0 ? two.x : two.y, 4);
    return odd != 0 ? float2{got, two.y} : float2{two.x, got};
  }

  const WgmmaInputArgs& args_;
  int channel_, pixels_, rows_;  // pixels of a row that are inside
  std::int64_t at_;
  std::uint16_t bits_[kTileSide][2];  // of the warp's 16 channels
};

#endif

}  // namespace qsim::golden::train::cuda
