// One warp's products of weights and digits on tensor cores, for linear_rows.cu.
#pragma once

#include "golden/linear/cuda/row_digits.cuh"
#include "golden/linear/cuda/row_stream.cuh"

namespace qsim::golden::cuda {

// Places of a lane, as tensor_core.cuh numbers them.
struct RowLane {
  int g, q;
  __device__ RowLane()
      : g(static_cast<int>(threadIdx.x) % 32 / 4), q(static_cast<int>(threadIdx.x) % 4) {}
};

// sums += 16 channels x 32 input features; `rows` is the first channel's first weight.
template <int kBits>
__device__ inline void multiply_32(std::int32_t (&sums)[4], const std::uint8_t* rows,
                                   const std::uint8_t* digits, const RowLane& at,
                                   std::uint32_t flip) {
  std::uint32_t a[4];
  const std::uint8_t* upper = rows + at.g * row_stage_stride(kBits) + at.q * kBits;
  const std::uint8_t* lower = upper + 8 * row_stage_stride(kBits);
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
    a[0] = (first ^ flip) & 0x0F0F0F0Fu;
    a[1] = (second ^ flip) & 0x0F0F0F0Fu;
    a[2] = (first ^ flip) >> 4 & 0x0F0F0F0Fu;
    a[3] = (second ^ flip) >> 4 & 0x0F0F0F0Fu;
  }
  const uint2 b = *reinterpret_cast<const uint2*>(digits);
  multiply_a<false>(sums, a, b.x, b.y);
}

template <int kBits, int kGroup>
class RowMultiplier {
 public:
  static constexpr int kSteps = row_slice(kBits) / 32;
  static constexpr int kGroups = RowStream<kBits, kGroup>::kGroups;

  __device__ RowMultiplier(const LinearJob& job, const RowPlan& plan, const RowTiles& tiles,
                           std::uint8_t* shared)
      : job_(job),
        cursor_(tiles, plan.slices, static_cast<int>(threadIdx.x) / 32),
        stream_(job, plan, tiles, shared),
        group_sums_(reinterpret_cast<const std::int64_t*>(shared + plan.sums_at)) {
    // Columns 6 and 7 of the product are not used; they take digit 0.
    digits_ =
        shared + plan.digits_at + (at_.g < kRowDigits ? at_.g : 0) * plan.plane_bytes + at_.q * 8;
  }

  // Before x is there: starts to read the weights.
  __device__ void begin() {
    stream_.begin();
    load_zero_points(cursor_);
  }

  // The warp's slices of a tile: `table` becomes what RowFinish takes.
  __device__ void add_tile(int tile, std::uint8_t* table) {
    std::int32_t sums[2][4] = {};
    for (; cursor_.tile() == tile; cursor_.advance()) {
      const std::uint8_t* stage = stream_.next();
      const std::uint8_t* digits = digits_ + cursor_.slice() * row_slice(kBits);
      if constexpr (kGroup == 0) {
#pragma unroll
        for (int i = 0; i < kSteps; ++i) multiply(sums[i % 2], stage, digits, i);
      } else {
        add_groups(stage, digits, reinterpret_cast<float2*>(table));
      }
    }
    if constexpr (kGroup == 0) store_sums(sums, table);
  }

 private:
  __device__ void multiply(std::int32_t (&sums)[4], const std::uint8_t* stage,
                           const std::uint8_t* digits, int i) const {
    multiply_32<kBits>(sums, stage + i * 4 * kBits, digits + 32 * i, at_, job_.flip);
  }

  __device__ void store_sums(const std::int32_t (&sums)[2][4], std::uint8_t* table) const {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    auto* to = reinterpret_cast<std::int32_t*>(table) + warp * kRowChannels * 8 + at_.q * 2;
    *reinterpret_cast<int2*>(to + at_.g * 8) =
        make_int2(sums[0][0] + sums[1][0], sums[0][1] + sums[1][1]);
    *reinterpret_cast<int2*>(to + (at_.g + 8) * 8) =
        make_int2(sums[0][2] + sums[1][2], sums[0][3] + sums[1][3]);
  }

  // The channel whose sum this lane rounds, if q < 2.
  __device__ int local_channel() const { return at_.g + at_.q % 2 * 8; }

  // Of the slice at `cursor`, which the warp multiplies next but one call.
  __device__ void load_zero_points(const RowCursor& cursor) {
    if constexpr (kBits == 4 && kGroup != 0) {
      const int channel = cursor.tile() * kRowChannels + local_channel();
      const int first = cursor.slice() * kGroups;
#pragma unroll
      for (int i = 0; i < kGroups; ++i) {
        const bool is_there = at_.q < 2 && first + i < job_.groups && channel < job_.out_features;
        zero_points_[i] =
            is_there ? zero_point_of(job_, std::int64_t{channel} * job_.groups + first + i) : 0;
      }
    }
  }

  __device__ void add_groups(const std::uint8_t* stage, const std::uint8_t* digits, float2* table) {
    const auto* scales =
        reinterpret_cast<const float*>(stage + RowStream<kBits, kGroup>::kScalesAt);
    const int channel = local_channel();
    const int first = cursor_.slice() * kGroups;
    int zero_points[kGroups];
#pragma unroll
    for (int i = 0; i < kGroups; ++i) zero_points[i] = zero_points_[i];
    RowCursor after = cursor_;
    after.advance();
    load_zero_points(after);
#pragma unroll
    for (int i = 0; i < kGroups; ++i) {
      std::int32_t sums[4] = {};
#pragma unroll
      for (int j = 0; j < kSteps / kGroups; ++j) {
        multiply(sums, stage, digits, i * (kSteps / kGroups) + j);
      }
      std::int64_t sum = combined(sums);
      if (first + i >= job_.groups || at_.q >= 2) continue;
      if constexpr (kBits == 4) sum -= zero_points[i] * group_sums_[first + i];
      // A group's sum is below 2^55, so it is converted once.
      table[channel * (job_.groups + 1) + first + i] =
          make_float2(__ll2float_rn(sum), scales[channel * kGroups + i]);
    }
  }

  // The digits' sums of one channel combined: lane q = 0 has channel g, lane q = 1 channel g + 8.
  __device__ std::int64_t combined(const std::int32_t (&sums)[4]) const {
    const auto pair = [&](std::int32_t low, std::int32_t high) {
      const std::int64_t both =
          static_cast<std::int64_t>(low) + static_cast<std::int64_t>(high) * 256;
      return at_.q == 3 ? 0 : both << (16 * at_.q);
    };
    const std::int64_t upper = pair(sums[0], sums[1]);
    const std::int64_t lower = pair(sums[2], sums[3]);
    const bool odd = at_.q % 2 != 0;
    std::int64_t mine = odd ? lower : upper;
    mine += __shfl_xor_sync(0xFFFFFFFFu, odd ? upper : lower, 1);
    return mine + __shfl_xor_sync(0xFFFFFFFFu, mine, 2);
  }

  const LinearJob& job_;
  RowCursor cursor_;  // of the slice to multiply next
  RowStream<kBits, kGroup> stream_;
  const std::uint8_t* digits_;
  const std::int64_t* group_sums_;
  RowLane at_;
  int zero_points_[kGroups] = {};
};

}  // namespace qsim::golden::cuda
