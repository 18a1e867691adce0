// From a tile's sums in shared memory to y, for linear_rows.cu.
#pragma once

#include "golden/kernels/linear/cuda/row_digits.cuh"

namespace qsim::golden::cuda {

template <int kBits, int kGroup, int kWarps>
class RowFinish {
 public:
  __device__ RowFinish(const LinearJob& job, int row, const RowFlags& flags)
      : job_(job), row_(row), flags_(flags) {}

  __device__ void set_exponent(int exponent) { exponent_ = exponent; }

  // Ahead of finish_sums() or finish_groups(): what memory has of the channel that this thread
  // finishes.
  __device__ void load_constants(int tile) {
    const int channel = tile * kRowChannels + local_channel();
    if (local_channel() >= kRowChannels || channel >= job_.out_features) return;
    bias_ = bias_of(job_, channel);
    if constexpr (kGroup == 0) {
      scale_ = __ldg(job_.scales + channel);
      if constexpr (kBits == 4) zero_point_ = zero_point_of(job_, channel);
    }
  }

  // Each tile has other warps, so that the rest goes on. Thread 8 c + d of those has digit d of
  // channel c.
  static constexpr int kThreads = kGroup == 0 ? kRowChannels * 8 : 32;
  static constexpr int kTurns = 32 * kWarps / kThreads;
  __device__ static int turn() { return static_cast<int>(threadIdx.x) / kThreads; }

  __device__ void finish_sums(int tile, const std::int32_t* sums) const {
    const int thread = static_cast<int>(threadIdx.x) % kThreads;
    const int digit = thread % 8;
    const int channel = tile * kRowChannels + thread / 8;
    const bool is_there = channel < job_.out_features;
    std::int32_t sum = 0;
#pragma unroll
    for (int warp = 0; warp < kWarps; ++warp) sum += sums[warp * kRowChannels * 8 + thread];
    if constexpr (kBits == 4) {
      if (digit < kRowDigits) sum -= zero_point_ * flags_.digit_sums[digit];
    }
    const std::int64_t part = static_cast<std::int64_t>(sum) << (8 * (digit % 3));
    WideSum total{digit >= 3 && digit < kRowDigits ? part : 0, digit < 3 ? part : 0};
#pragma unroll
    for (int step = 1; step < 8; step *= 2) {
      total.high += __shfl_xor_sync(0xFFFFFFFFu, total.high, step);
      total.low += __shfl_xor_sync(0xFFFFFFFFu, total.low, step);
    }
    float value = rounded(total);
    if (flags_.non_finite != 0) value = with_non_finite(tile, value);
    if (digit == 0 && is_there) {
      store_result(job_, row_, channel, __fmaf_rn(value, scale_, 0.0F), exponent_, bias_);
    }
  }

  __device__ void finish_groups(int tile, const float2* table) const {
    const int channel = tile * kRowChannels + local_channel();
    const bool is_there = local_channel() < kRowChannels && channel < job_.out_features;
    const float2* row = table + (is_there ? local_channel() : 0) * (job_.groups + 1);
    float sum = 0;
    if (flags_.non_finite != 0) {
      sum = sum_with_non_finite(tile, row);
    } else {
#pragma unroll 8
      for (int group = 0; group < job_.groups; ++group) {
        const float2 one = row[group];
        sum = __fmaf_rn(one.x, one.y, sum);
      }
    }
    if (is_there) store_result(job_, row_, channel, sum, exponent_, bias_);
  }

 private:
  __device__ static int local_channel() {
    return static_cast<int>(threadIdx.x) % kThreads / (kGroup == 0 ? 8 : 1);
  }

  // A warp has four channels; each lane returns its own channel's sum.
  __device__ float with_non_finite(int tile, float value) const {
    const int thread = static_cast<int>(threadIdx.x) % kThreads;
    for (int i = 0; i < 4; ++i) {
      const int local = thread / 32 * 4 + i;
      const int channel = tile * kRowChannels + local;
      if (channel >= job_.out_features) continue;
      const NonFiniteSum sum = non_finite_terms(job_, row_, channel, 0);
      if (sum.any() && thread / 8 == local) value = sum.value();
    }
    return value;
  }

  // The groups of this lane's channel, those with an element that is not finite by definition. All
  // lanes look at each channel.
  __device__ float sum_with_non_finite(int tile, const float2* row) const {
    float sum = 0;
    for (int group = 0; group < job_.groups; ++group) {
      float2 one = row[group];
      for (int local = 0; local < kRowChannels; ++local) {
        const int channel = tile * kRowChannels + local;
        if (channel >= job_.out_features) continue;
        const NonFiniteSum terms = non_finite_terms(job_, row_, channel, group);
        if (terms.any() && local == local_channel()) one.x = terms.value();
      }
      sum = __fmaf_rn(one.x, one.y, sum);
    }
    return sum;
  }

  const LinearJob& job_;
  int row_;
  const RowFlags& flags_;
  int exponent_ = 0;
  float bias_ = 0;
  float scale_ = 0;
  int zero_point_ = 0;
};

}  // namespace qsim::golden::cuda
