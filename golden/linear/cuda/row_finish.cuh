// From a tile's sums in shared memory to y, for linear_rows.cu.
#pragma once

#include "golden/linear/cuda/row_digits.cuh"

namespace qsim::golden::cuda {

template <int kBits, int kGroup>
class RowFinish {
 public:
  __device__ RowFinish(const LinearJob& job, int row, const RowFlags& flags)
      : job_(job), row_(row), flags_(flags) {}

  __device__ void set_exponent(int exponent) { exponent_ = exponent; }

  // Ahead of run(tile): what memory has of the channel that this thread finishes.
  __device__ void load_constants(int tile) {
    const int thread = static_cast<int>(threadIdx.x);
    const int channel = tile * kRowChannels + (kGroup == 0 ? thread / 8 : thread % 32);
    const bool is_mine = kGroup == 0 ? thread < kRowChannels * 8 : thread % 32 < kRowChannels;
    if (!is_mine || channel >= job_.out_features) return;
    bias_ = bias_of(job_, channel);
    if constexpr (kGroup == 0) {
      scale_ = __ldg(job_.scales + channel);
      if constexpr (kBits == 4) zero_point_ = zero_point_of(job_, channel);
    }
  }

  // All threads call it when they have written the tile's sums to `table`. `count` numbers the
  // block's tiles.
  __device__ void run(int tile, int count, std::uint8_t* table) const {
    __syncthreads();
    if constexpr (kGroup == 0) {
      finish_sums(tile, reinterpret_cast<const std::int32_t*>(table));
    } else {
      if (flags_.non_finite != 0) {
        replace_non_finite(tile, reinterpret_cast<float2*>(table));
        __syncthreads();
      }
      // Each tile has another warp, so that the others go on.
      if (static_cast<int>(threadIdx.x) / 32 == count % kRowWarps) {
        finish_groups(tile, reinterpret_cast<const float2*>(table));
      }
    }
  }

 private:
  // Thread 8 c + d of the first 128 has digit d of channel c.
  __device__ void finish_sums(int tile, const std::int32_t* sums) const {
    const int thread = static_cast<int>(threadIdx.x);
    if (thread >= kRowChannels * 8) return;
    const int digit = thread % 8;
    const int channel = tile * kRowChannels + thread / 8;
    const bool is_there = channel < job_.out_features;
    std::int32_t sum = 0;
#pragma unroll
    for (int warp = 0; warp < kRowWarps; ++warp) sum += sums[warp * kRowChannels * 8 + thread];
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

  // A warp has four channels; each lane returns its own channel's sum.
  __device__ float with_non_finite(int tile, float value) const {
    const int thread = static_cast<int>(threadIdx.x);
    for (int i = 0; i < 4; ++i) {
      const int local = thread / 32 * 4 + i;
      const int channel = tile * kRowChannels + local;
      if (channel >= job_.out_features) continue;
      const NonFiniteSum sum = non_finite_terms(job_, row_, channel, 0);
      if (sum.any() && thread / 8 == local) value = sum.value();
    }
    return value;
  }

  __device__ void replace_non_finite(int tile, float2* table) const {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    for (int i = warp; i < kRowChannels * job_.groups; i += kRowWarps) {
      const int local = i / job_.groups;
      const int group = i % job_.groups;
      if (tile * kRowChannels + local >= job_.out_features) continue;
      const NonFiniteSum sum = non_finite_terms(job_, row_, tile * kRowChannels + local, group);
      if (sum.any() && threadIdx.x % 32 == 0) {
        table[local * (job_.groups + 1) + group].x = sum.value();
      }
    }
  }

  __device__ void finish_groups(int tile, const float2* table) const {
    const int local = static_cast<int>(threadIdx.x) % 32;
    const int channel = tile * kRowChannels + local;
    if (local >= kRowChannels || channel >= job_.out_features) return;
    const float2* row = table + local * (job_.groups + 1);
    float sum = 0;
#pragma unroll 8
    for (int group = 0; group < job_.groups; ++group) {
      const float2 one = row[group];
      sum = __fmaf_rn(one.x, one.y, sum);
    }
    store_result(job_, row_, channel, sum, exponent_, bias_);
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
