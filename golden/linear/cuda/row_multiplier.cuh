// One warp's products of weights and digits on tensor cores, for linear_rows.cu.
#pragma once

#include "golden/device/tensor_core.cuh"
#include "golden/linear/cuda/row_digits.cuh"

namespace qsim::golden::cuda {

// Places of a lane, as tensor_core.cuh numbers them.
struct RowLane {
  int lane, g, q;
  __device__ RowLane() : lane(static_cast<int>(threadIdx.x) % 32), g(lane / 4), q(lane % 4) {}
};

// sums += 16 channels x 32 input features; `rows` is the first channel's first weight.
template <int kBits>
__device__ inline void multiply_32(std::int32_t (&sums)[4], const std::uint8_t* rows, int row_bytes,
                                   const std::uint8_t* digits, const RowLane& at) {
  std::uint32_t a[4];
  const std::uint8_t* upper = rows + at.g * row_bytes + at.q * kBits;
  const std::uint8_t* lower = upper + 8 * row_bytes;
  if constexpr (kBits == 8) {
    const uint2 first = *reinterpret_cast<const uint2*>(upper);
    const uint2 second = *reinterpret_cast<const uint2*>(lower);
    a[0] = first.x;
    a[1] = second.x;
    a[2] = first.y;
    a[3] = second.y;
  } else {
    const auto first = *reinterpret_cast<const std::uint32_t*>(upper);
    const auto second = *reinterpret_cast<const std::uint32_t*>(lower);
    a[0] = first & 0x0F0F0F0Fu;
    a[1] = second & 0x0F0F0F0Fu;
    a[2] = first >> 4 & 0x0F0F0F0Fu;
    a[3] = second >> 4 & 0x0F0F0F0Fu;
  }
  const uint2 b = *reinterpret_cast<const uint2*>(digits);
  multiply_a<false>(sums, a, b.x, b.y);
}

template <int kBits, int kGroup>
class RowMultiplier {
 public:
  __device__ RowMultiplier(const LinearJob& job, const RowPlan& plan, std::uint8_t* shared)
      : job_(job), plan_(plan), shared_(shared) {
    // Columns 6 and 7 of the product are not used; they take digit 0.
    digits_ =
        shared + plan.digits_at + (at_.g < kRowDigits ? at_.g : 0) * plan.plane_bytes + at_.q * 8;
  }

  __device__ void clear() {
#pragma unroll
    for (std::int32_t& sum : sums_) sum = 0;
  }

  // A slice of kRowSlice input features from k on, of the stage's rows.
  __device__ void add_slice(const std::uint8_t* rows, int k, int tile, std::uint8_t* table) {
    if constexpr (kGroup == 0) {
#pragma unroll
      for (int i = 0; i < kRowSlice / 32; ++i) multiply(rows, k, i);
    } else {
      add_groups(rows, k, tile, table);
    }
  }

  // Sums by warp, for RowFinish.
  __device__ void store_sums(std::uint8_t* table) const {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    auto* to = reinterpret_cast<std::int32_t*>(table) + warp * kRowChannels * 8;
    *reinterpret_cast<int2*>(to + at_.g * 8 + at_.q * 2) = make_int2(sums_[0], sums_[1]);
    *reinterpret_cast<int2*>(to + (at_.g + 8) * 8 + at_.q * 2) = make_int2(sums_[2], sums_[3]);
  }

 private:
  __device__ void multiply(const std::uint8_t* rows, int k, int i) {
    multiply_32<kBits>(sums_, rows + i * 4 * kBits, plan_.stage_row_bytes, digits_ + k + 32 * i,
                       at_);
  }

  __device__ void add_groups(const std::uint8_t* rows, int k, int tile, std::uint8_t* table) {
    constexpr int kGroups = kRowSlice / kGroup;
    const int channel = at_.g + (at_.q % 2) * 8;  // whose sum this lane rounds, if q < 2
    const int first = k / kGroup;
    float scales[kGroups];
    int zero_points[kGroups];
#pragma unroll
    for (int i = 0; i < kGroups; ++i) {
      const bool is_there =
          at_.q < 2 && first + i < job_.groups && tile * kRowChannels + channel < job_.out_features;
      const std::int64_t index =
          std::int64_t{tile * kRowChannels + channel} * job_.groups + first + i;
      scales[i] = is_there ? __ldg(job_.scales + index) : 0;
      zero_points[i] = kBits == 4 && is_there ? __ldg(job_.zero_points + index) : 0;
    }
#pragma unroll
    for (int i = 0; i < kGroups; ++i) {
      clear();
#pragma unroll
      for (int j = 0; j < kGroup / 32; ++j) multiply(rows, k, i * (kGroup / 32) + j);
      std::int64_t sum = group_sum();
      if (first + i >= job_.groups || at_.q >= 2) continue;
      if constexpr (kBits == 4) {
        sum -= zero_points[i] *
               reinterpret_cast<const std::int64_t*>(shared_ + plan_.sums_at)[first + i];
      }
      // A group's sum is below 2^55, so it is converted once.
      reinterpret_cast<float2*>(table)[channel * (job_.groups + 1) + first + i] =
          make_float2(__ll2float_rn(sum), scales[i]);
    }
  }

  // The digits' sums of one channel combined: lane q = 0 has channel g, lane q = 1 channel g + 8.
  __device__ std::int64_t group_sum() const {
    const auto pair = [&](std::int32_t low, std::int32_t high) {
      const std::int64_t both =
          static_cast<std::int64_t>(low) + static_cast<std::int64_t>(high) * 256;
      return at_.q == 3 ? 0 : both << (16 * at_.q);
    };
    const std::int64_t upper = pair(sums_[0], sums_[1]);
    const std::int64_t lower = pair(sums_[2], sums_[3]);
    const bool odd = at_.q % 2 != 0;
    std::int64_t mine = odd ? lower : upper;
    mine += __shfl_xor_sync(0xFFFFFFFFu, odd ? upper : lower, 1);
    return mine + __shfl_xor_sync(0xFFFFFFFFu, mine, 2);
  }

  const LinearJob& job_;
  const RowPlan& plan_;
  std::uint8_t* shared_;
  const std::uint8_t* digits_;
  RowLane at_;
  std::int32_t sums_[4];
};

}  // namespace qsim::golden::cuda
