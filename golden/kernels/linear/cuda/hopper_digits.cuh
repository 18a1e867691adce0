// Slices of several rows of x as digits in shared memory, for linear_batch_hopper.cu.
#pragma once

#include "golden/device/hopper.cuh"
#include "golden/device/tensor_core.cuh"
#include "golden/kernels/linear/cuda/batch_digits.cuh"
#include "golden/kernels/linear/cuda/hopper_plan.h"

namespace qsim::golden::cuda {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

struct HopperShared {
  MBarrier weights_full[kHopperMostStages];
  MBarrier weights_empty[kHopperMostStages];
  MBarrier digits_full[kHopperDigitBuffers];
  MBarrier digits_empty[kHopperDigitBuffers];
  std::int32_t exponents[16];
  std::uint32_t non_finite;  // bit m: row m has such an x
  // Whether a warp's part of a slice has digits 4 or 5 that are not 0.
  std::uint32_t high_digits[kHopperDigitBuffers][kHopperConverters];
};
static_assert(sizeof(HopperShared) <= 1024, "the plan's header");

// What this thread has stored to shared memory, wgmma sees after the next barrier.
__device__ inline void fence_for_products() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Which of a ring of buffers is next, and the parity of its turn.
struct HopperTurn {
  int slot = 0;
  std::uint32_t parity = 0;
  __device__ void advance(int count) {
    if (++slot < count) return;
    slot = 0;
    parity ^= 1;
  }
};

template <int kXRows>
struct HopperConverter {
  static constexpr int kThreads = 32 * kHopperConverters;
  static constexpr int kUnits = kHopperSlice / 8;  // of a row of x
  static constexpr int kItems = kXRows * kUnits / kThreads;

  const LinearJob& job;
  const HopperPlan& plan;
  const BatchRows& rows;
  HopperShared& state;
  std::uint8_t* digits;
  std::uint8_t* ahead;  // slices of x on their way
  int team;
  int thread;  // of the team

  __device__ int row(int i) const { return (thread + i * kThreads) / kUnits; }
  __device__ int unit(int i) const { return (thread + i * kThreads) % kUnits; }

  __device__ void find_exponents() {
    const int lane = thread % 32;
    for (int m = team * kHopperConverters + thread / 32; m < kXRows;
         m += kHopperTeams * kHopperConverters) {
      const std::uint32_t largest = job.x_type != FloatType::kFloat16 && m < rows.count
                                        ? largest_of_row(job, rows.first + m, lane)
                                        : 0;
      if (lane == 0) state.exponents[m] = step_exponent(job.x_type, largest);
    }
    asm volatile("bar.sync 1, %0;" ::"n"(kHopperTeams * kThreads) : "memory");
  }

  // Where this thread has 16 bytes of item i in buffer `at` of `ahead`.
  __device__ std::uint8_t* place(int at, int part, int i) const {
    const int number = (part * kItems + i) * kHopperTeams * kThreads + team * kThreads + thread;
    return ahead + at * plan.row_bytes + number * 16;
  }
  __device__ bool is_copied(int i, int slice) const {
    return job.x_is_aligned && row(i) < rows.count &&
           slice * kHopperSlice + unit(i) * 8 < job.in_features;
  }

  // Starts to copy this thread's part of a slice: under full load memory takes long.
  __device__ void fetch(int slice, int at) const {
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      if (!is_copied(i, slice)) continue;
      const std::int64_t first =
          std::int64_t{rows.first + row(i)} * job.in_features + slice * kHopperSlice + unit(i) * 8;
      if (job.x_type == FloatType::kFloat32) {
        const float* from = static_cast<const float*>(job.x) + first;
        copy_async<16>(to_shared(place(at, 0, i)), from);
        copy_async<16>(to_shared(place(at, 1, i)), from + 4);
      } else {
        copy_async<16>(to_shared(place(at, 0, i)),
                       static_cast<const std::uint16_t*>(job.x) + first);
      }
    }
    commit_copies();
  }

  // What fetch() brought, as FP32 bits.
  __device__ void take(int i, int slice, int at, std::uint32_t (&bits)[8]) const {
    if (!is_copied(i, slice)) {
      load_numbers(job, rows.first + row(i), slice * kHopperSlice + unit(i) * 8, bits);
      return;
    }
    const uint4 low = *reinterpret_cast<const uint4*>(place(at, 0, i));
    if (job.x_type == FloatType::kFloat32) {
      const uint4 high = *reinterpret_cast<const uint4*>(place(at, 1, i));
      const std::uint32_t words[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
      for (int j = 0; j < 8; ++j) bits[j] = words[j];
    } else {
      widen(job, low.x, bits);
      widen(job, low.y, bits + 2);
      widen(job, low.z, bits + 4);
      widen(job, low.w, bits + 6);
    }
  }

  __device__ void store(int slice, int at, std::uint8_t* to, std::uint32_t& high_of_warp) {
    std::uint32_t high = 0;
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      if (row(i) >= rows.count) continue;
      const double steps = steps_of_one(state.exponents[row(i)]);
      std::uint32_t bits[8];
      take(i, slice, at, bits);
      std::int64_t fixed[8];
      bool non_finite = false;
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        const bool finite = is_finite(bits[j]);
        non_finite |= !finite;
        fixed[j] = fixed_of(finite ? bits[j] : 0, steps);
        high |= high_digits(fixed[j]);
      }
      if (non_finite) atomicOr(&state.non_finite, 1u << row(i));
      // Rows of 128 bytes, swizzled as the products' operands are.
      const int chunk = unit(i) / 2 ^ row(i) % 8;
      store_digits<8>(fixed, to + row(i) * kHopperSlice + chunk * 16 + unit(i) % 2 * 8,
                      kXRows * kHopperSlice);
    }
    high = __reduce_or_sync(0xFFFFFFFFu, high);
    if (thread % 32 == 0) high_of_warp = high;
  }

  // The digits of rows that are not there stay 0.
  __device__ void clear() {
    auto* words = reinterpret_cast<uint4*>(digits);
    for (int i = team * kThreads + thread; i < kHopperDigitBuffers * plan.digit_bytes / 16;
         i += kHopperTeams * kThreads) {
      words[i] = make_uint4(0, 0, 0, 0);
    }
    fence_for_products();
  }

  __device__ void run() {
    for (int i = 0; i < kHopperRowsAhead; ++i) fetch(team + i * kHopperTeams, i);
    if (rows.count < kXRows) clear();
    find_exponents();
    int at = 0;
    for (int slice = team; slice < plan.slices; slice += kHopperTeams) {
      const int slot = slice % kHopperDigitBuffers;
      const auto turn = static_cast<std::uint32_t>(slice / kHopperDigitBuffers % 2);
      wait_copies<kHopperRowsAhead - 1>();
      state.digits_empty[slot].wait(turn ^ 1);
      store(slice, at, digits + slot * plan.digit_bytes, state.high_digits[slot][thread / 32]);
      fence_for_products();
      __syncwarp();
      if (thread % 32 == 0) state.digits_full[slot].arrive();
      fetch(slice + kHopperRowsAhead * kHopperTeams, at);
      at = at + 1 == kHopperRowsAhead ? 0 : at + 1;
    }
  }
};

#endif

}  // namespace qsim::golden::cuda
