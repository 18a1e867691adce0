// The weights' way through shared memory and their products with digits, for
// linear_batch_hopper.cu.
#pragma once

#include "golden/device/wgmma_columns.cuh"
#include "golden/kernels/linear/cuda/hopper_digits.cuh"

namespace qsim::golden::cuda {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// One thread's part: the slices of the weights through a ring of stages.
struct HopperCopies {
  const CUtensorMap& map;
  const HopperPlan& plan;
  HopperShared& state;
  std::uint32_t stages;
  int first_channel;

  __device__ void copy(int slice) const {
    const int slot = slice % plan.stages;
    MBarrier& full = state.weights_full[slot];
    full.arrive_expecting(static_cast<std::uint32_t>(plan.stage_bytes));
    copy_box(&map, full, stages + static_cast<std::uint32_t>(slot * plan.stage_bytes),
             slice * kHopperSlice, first_channel);
  }
  __device__ void begin() const {
    for (int slice = 0; slice < min(plan.stages, plan.slices); ++slice) copy(slice);
  }
  // All warps have multiplied `slice`, or are about to: its stage takes the one `stages` later.
  __device__ void refill(int slice) const {
    if (slice < 0 || slice + plan.stages >= plan.slices) return;
    state.weights_empty[slice % plan.stages].wait(
        static_cast<std::uint32_t>(slice / plan.stages % 2));
    copy(slice + plan.stages);
  }
};

template <int kXRows, int kTiles>
struct HopperMultiplier {
  static constexpr int kHalves = kXRows / 8;
  static constexpr int kColumns = kRowDigits * kXRows;

  const LinearJob& job;
  const HopperPlan& plan;
  HopperShared& state;
  std::uint32_t digits;
  std::uint32_t stages;
  int group;  // the warpgroup
  std::int32_t sums[kTiles][kColumns / 2];

  template <int kUsed>
  __device__ void multiply(std::uint64_t weights, std::uint64_t x) {
    wgmma_fence();
#pragma unroll
    for (std::uint64_t k = 0; k < 4; ++k) {
#pragma unroll
      for (int t = 0; t < kTiles; ++t) {
        constexpr std::uint64_t kTwoTiles = 2 * kHopperTile * kHopperSlice / 16;
        wgmma_columns<kUsed>(sums[t], weights + static_cast<std::uint64_t>(t) * kTwoTiles + 2 * k,
                             x + 2 * k);
      }
    }
    wgmma_commit();
    wgmma_wait<0>();
  }

  __device__ void run(const HopperCopies& copies) {
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
#pragma unroll
      for (std::int32_t& sum : sums[t]) sum = 0;
    }
    HopperTurn stage;
    HopperTurn buffer;
    const bool is_first = threadIdx.x % 32 == 0;
    for (int slice = 0; slice < plan.slices; ++slice) {
      state.digits_full[buffer.slot].wait(buffer.parity);
      // Read by the lane that releases the buffer, which racecheck can follow.
      std::uint32_t high = 0;
      if (is_first) {
#pragma unroll
        for (const std::uint32_t one : state.high_digits[buffer.slot]) high |= one;
      }
      const bool all = __shfl_sync(0xFFFFFFFFu, high, 0) != 0;
      state.weights_full[stage.slot].wait(stage.parity);
      const std::uint64_t weights = operand<kHopperSlice>(
          stages + static_cast<std::uint32_t>(stage.slot * plan.stage_bytes +
                                              group * kHopperTile * kHopperSlice),
          8 * kHopperSlice);
      const std::uint64_t x = operand<kHopperSlice>(
          digits + static_cast<std::uint32_t>(buffer.slot * plan.digit_bytes), 8 * kHopperSlice);
      if (all) {
        multiply<kColumns>(weights, x);
      } else {
        multiply<4 * kXRows>(weights, x);
      }
      __syncwarp();
      if (is_first) {
        state.weights_empty[stage.slot].arrive();
        state.digits_empty[buffer.slot].arrive();
        if (threadIdx.x == 0) copies.refill(slice - 1);
      }
      __syncwarp();
      stage.advance(plan.stages);
      buffer.advance(kHopperDigitBuffers);
    }
#pragma unroll
    for (int t = 0; t < kTiles; ++t) pin(sums[t]);
  }

  __device__ void finish(const BatchRows& rows, int first_channel, int end_channel) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) % 128 / 32;
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
#pragma unroll
      for (int lower = 0; lower < 2; ++lower) {
        const int channel =
            first_channel + (group + 2 * t) * kHopperTile + warp * 16 + lane / 4 + 8 * lower;
        if (channel >= end_channel) continue;
        const float scale = __ldg(job.scales + channel);
        const float bias = bias_of(job, channel);
#pragma unroll
        for (int i = 0; i < 2 * kHalves; ++i) {
          const int m = i / 2 * 8 + lane % 4 * 2 + i % 2;
          if (m >= rows.count || (state.non_finite >> m & 1) != 0) continue;
          std::int32_t parts[kRowDigits];
#pragma unroll
          for (int digit = 0; digit < kRowDigits; ++digit) {
            parts[digit] = sums[t][4 * (digit * kHalves + i / 2) + 2 * lower + i % 2];
          }
          const float sum = __fmaf_rn(rounded(combine(parts)), scale, 0.0F);
          store_result(job, rows.first + m, channel, sum, state.exponents[m], bias);
        }
      }
    }
  }
};

#endif

}  // namespace qsim::golden::cuda
