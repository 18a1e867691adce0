// The loop of the convolution of conv_boxes.h: a producer brings boxes of input and stages of
// weights with the copy engine, warpgroups multiply. Each stage has a `full` barrier, on which the
// copies' bytes count, and an `empty` one, on which warps arrive that have read it.
#pragma once

#include "golden/device/hopper.cuh"
#include "golden/kernels/train/cuda/forward/conv_boxes.h"

namespace qsim::golden::train::cuda {

using namespace golden::cuda;

struct BoxBarriers {
  MBarrier input_full[kMostInputStages];
  MBarrier input_empty[kMostInputStages];
  MBarrier weights_full[kMostWeightStages];
  MBarrier weights_empty[kMostWeightStages];

  // Called by one thread.
  __device__ void init() {
    for (int i = 0; i < kMostInputStages; ++i) {
      input_full[i].init(1);
      input_empty[i].init(kBoxWarpgroups * 4);
    }
    for (int i = 0; i < kMostWeightStages; ++i) {
      weights_full[i].init(1);
      weights_empty[i].init(kBoxWarpgroups * 4);
    }
    fence_barrier_init();
  }
};

// A position in a ring of stages, and the parity of the barriers' next phase.
struct BoxRing {
  int slot = 0;
  std::uint32_t parity = 0;

  __device__ void advance(int stages) {
    if (++slot == stages) {
      slot = 0;
      parity ^= 1;
    }
  }
};

// Where a unit is: its first output pixel.
struct BoxUnit {
  int picture, y, x;

  __device__ BoxUnit(const BoxConv& plan, int unit) {
    if (plan.is_line != 0) {
      picture = 0;
      y = 0;
      x = unit * 64;
      return;
    }
    picture = plan.picture_units.divide(unit);
    const int in_picture = unit - picture * plan.picture_units.divisor();
    y = plan.units_x.divide(in_picture);
    x = (in_picture - y * plan.units_x.divisor()) * 8;
    y *= 8;
  }
  // The output pixel of a row; -1: none. `unit` as above.
  __device__ int pixel(const BoxConv& plan, const ConvSizes& conv, int unit, int row) const {
    if (plan.is_line != 0) return x + row < conv.pixels ? x + row : -1;
    const int at_y = y + row / 8;
    const int at_x = x + row % 8;
    if (unit >= plan.units || at_y >= conv.out_height || at_x >= conv.out_width) return -1;
    return (picture * conv.out_height + at_y) * conv.out_width + at_x;
  }
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// Called by one thread.
template <int kColumns, int kTaps>
__device__ void produce_boxes(const BoxConv& plan, const ConvSizes& conv, BoxBarriers& barriers,
                              std::uint32_t inputs, std::uint32_t weights) {
  constexpr std::uint32_t kStageBytes = kTaps * kColumns * kBoxRowBytes;
  BoxRing input;
  BoxRing weight;
  bool has_weights = false;
  for (int job = static_cast<int>(blockIdx.x); job < plan.jobs;
       job += static_cast<int>(gridDim.x)) {
    const int row_tile = plan.column_blocks.divide(job);
    const int first_column = (job - row_tile * plan.column_blocks.divisor()) * kColumns;
    for (int block = 0; block < plan.channel_blocks; ++block) {
      MBarrier& full = barriers.input_full[input.slot];
      barriers.input_empty[input.slot].wait(input.parity ^ 1);
      full.arrive_expecting(static_cast<std::uint32_t>(kBoxWarpgroups * plan.unit_bytes));
      std::uint32_t to =
          inputs + static_cast<std::uint32_t>(input.slot * kBoxWarpgroups * plan.unit_stride);
      const int channel = block / plan.tap_blocks * kBoxRowBytes;
      const int own_tap = block % plan.tap_blocks;
      const int ky = own_tap / conv.kernel_w;
      const int from_x = (own_tap - ky * conv.kernel_w) * conv.dilation_w - conv.pad_left;
      const int from_y = ky * conv.dilation_h - conv.pad_top;
      for (int i = 0; i < kBoxWarpgroups; ++i) {
        const BoxUnit unit(plan, row_tile * kBoxWarpgroups + i);
        copy_box(&plan.input, full, to, channel, unit.x * conv.stride_w + from_x,
                 unit.y * conv.stride_h + from_y, unit.picture);
        to += static_cast<std::uint32_t>(plan.unit_stride);
      }
      input.advance(plan.input_stages);
      if (has_weights) continue;
      for (int stage = 0; stage < plan.block_stages; ++stage) {
        MBarrier& weights_full = barriers.weights_full[weight.slot];
        barriers.weights_empty[weight.slot].wait(weight.parity ^ 1);
        weights_full.arrive_expecting(kStageBytes);
        const std::uint32_t at = weights + static_cast<std::uint32_t>(weight.slot) * kStageBytes;
#pragma unroll
        for (int tap = 0; tap < kTaps; ++tap) {
          copy_box(&plan.weights, weights_full, at + tap * kColumns * kBoxRowBytes,
                   (own_tap + stage * kTaps + tap) * conv.channels + channel, first_column);
        }
        weight.advance(plan.weight_stages);
      }
    }
    has_weights = plan.keeps_weights != 0;
  }
}

// Each warpgroup begins some stages after the one before it, and stays behind: while one finishes
// its unit, the others have the tensor cores.
__device__ inline void wait_to_begin(int group) {
  asm volatile("bar.sync %0, 256;" ::"r"(kBoxWarpgroups + group) : "memory");
}
__device__ inline void let_next_begin(int group) {
  if (group + 1 == kBoxWarpgroups) return;
  asm volatile("bar.arrive %0, 256;" ::"r"(kBoxWarpgroups + group + 1) : "memory");
}

// What a multiplying warpgroup keeps from job to job.
template <int kColumns, int kTaps>
class BoxMultiplier {
 public:
  __device__ BoxMultiplier(const BoxConv& plan, const ConvSizes& conv, BoxBarriers& barriers,
                           std::uint32_t inputs, std::uint32_t weights, int group)
      : plan_(plan),
        conv_(conv),
        barriers_(barriers),
        input_operand_(
            operand<kBoxRowBytes>(inputs + static_cast<std::uint32_t>(group * plan.unit_stride),
                                  static_cast<std::uint32_t>(plan.group_stride * kBoxRowBytes))),
        weight_operand_(operand<kBoxRowBytes>(weights, 8 * kBoxRowBytes)) {}

  // The sums of the next job. After `lead` stages (0: never) the next warpgroup may begin.
  __device__ void multiply(std::int32_t (&sums)[kColumns / 2], int lead, int group) {
    bool first = true;
    for (int block = 0; block < plan_.channel_blocks; ++block) {
      barriers_.input_full[input_.slot].wait(input_.parity);
      int row = 0;  // of the box, in pixels
      int kx = 0;
      for (int stage = 0; stage < plan_.block_stages; ++stage) {
        barriers_.weights_full[weight_.slot].wait(weight_.parity);
        issue(row + kx * conv_.dilation_w, first, sums);
        first = false;
        if (--lead == 0) let_next_begin(group);
        wgmma_wait<1>();  // for the stage before this one
        if (stage > 0) release_weights(last_weight_);
        last_weight_ = weight_.slot;
        advance_weights();
        if (kTaps > 1 || ++kx == conv_.kernel_w) {
          kx = 0;
          row += conv_.dilation_h * plan_.pitch;
        }
      }
      wgmma_wait<0>();
      release_weights(last_weight_);
      if (threadIdx.x % 32 == 0) barriers_.input_empty[input_.slot].arrive();
      input_.advance(plan_.input_stages);
    }
    pin(sums);
  }

 private:
  __device__ void advance_weights() {
    weight_.advance(plan_.weight_stages);
    if (plan_.keeps_weights != 0) weight_.parity = 0;
  }
  __device__ void release_weights(int slot) {
    __syncwarp();
    if (plan_.keeps_weights == 0 && threadIdx.x % 32 == 0) barriers_.weights_empty[slot].arrive();
  }
  // Issues the products of one stage as one group of wgmmas.
  __device__ void issue(int pixels, bool first, std::int32_t (&sums)[kColumns / 2]) {
    const std::uint64_t a =
        input_operand_ +
        static_cast<std::uint32_t>(input_.slot * kBoxWarpgroups * plan_.unit_stride / 16);
    const std::uint64_t b =
        weight_operand_ +
        static_cast<std::uint32_t>(weight_.slot * (kTaps * kColumns * kBoxRowBytes / 16));
    wgmma_fence();
#pragma unroll
    for (int tap = 0; tap < kTaps; ++tap) {
      const auto moved =
          static_cast<std::uint32_t>((pixels + tap * conv_.dilation_w) * (kBoxRowBytes / 16));
#pragma unroll
      for (int k = 0; k < kBoxRowBytes / 32; ++k) {
        wgmma<kColumns, false>(sums, a + moved + 2 * k,
                               b + tap * (kColumns * kBoxRowBytes / 16) + 2 * k,
                               first && tap + k == 0 ? 0 : 1);
      }
    }
    wgmma_commit();
  }

  const BoxConv& plan_;
  const ConvSizes& conv_;
  BoxBarriers& barriers_;
  std::uint64_t input_operand_;  // of the first slot and tap
  std::uint64_t weight_operand_;
  BoxRing input_;
  BoxRing weight_;
  int last_weight_ = 0;
};

#endif

}  // namespace qsim::golden::train::cuda
