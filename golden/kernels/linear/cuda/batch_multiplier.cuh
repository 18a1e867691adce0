// One warp's products of weights and the digits of several rows of x, for linear_batch.cu.
#pragma once

#include "golden/kernels/linear/cuda/batch_digits.cuh"
#include "golden/kernels/linear/cuda/batch_stream.cuh"
#include "golden/kernels/linear/cuda/row_multiplier.cuh"

namespace qsim::golden::cuda {

template <int kBits, int kGroup, int kXRows>
class BatchMultiplier {
 public:
  static constexpr int kSteps = row_slice(kBits) / 32;
  static constexpr int kGroups = BatchStream<kBits, kGroup>::kGroups;
  static constexpr int kHalves = kXRows / 8;  // columns of a digit, in eights

  __device__ BatchMultiplier(const LinearJob& job, const BatchPlan& plan, const BatchTiles& tiles,
                             std::uint8_t* shared)
      : job_(job), plan_(plan), tiles_(tiles), stream_(job, plan, tiles, shared) {
    digits_ = shared + plan.digits_at + at_.g * batch_plane_bytes(kBits) + at_.q * 8;
  }

  // Starts to read the weights, before x is there.
  __device__ void begin() {
    stream_.begin();
    load_zero_points(0);
  }

  __device__ void add_slice(int slice, std::uint32_t high_digits) {
    const std::uint8_t* stage = stream_.next();
    const std::uint8_t* digits = digits_ + slice % 2 * plan_.digit_bytes;
    // Eight groups would need too many registers for two slices' zero_points.
    constexpr bool kEarly = kGroup != 0 && kGroups < 8;
    if constexpr (!kEarly && kGroup != 0) load_zero_points(slice);
    std::uint32_t zero_points[kGroups];
#pragma unroll
    for (int i = 0; i < kGroups; ++i) zero_points[i] = zero_points_[i];
    if constexpr (kEarly) load_zero_points(slice + 1);
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
      constexpr int kStepsOfGroup = kSteps / kGroups;
      multiply_step(stage, digits, i, high_digits, zero_points[i / kStepsOfGroup]);
      if constexpr (kGroup != 0) {
        if ((i + 1) % kStepsOfGroup == 0) add_group(stage, i / kStepsOfGroup);
      }
    }
  }

  // Calls store(row, channel, sum) for each result of this lane; rows and channels of the block.
  template <typename Store>
  __device__ void finish(Store store) const {
#pragma unroll
    for (int t = 0; t < kBatchTiles; ++t) {
      if (!tiles_.has(t)) continue;
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int channel = tiles_.tile(t) * kRowChannels + at_.g + e / 2 * 8;
        if (channel >= job_.out_features) continue;
        const float scale = kGroup == 0 ? __ldg(job_.scales + channel) : 0;
        const float bias = bias_of(job_, channel);
#pragma unroll
        for (int h = 0; h < kHalves; ++h) {
          const float sum =
              kGroup == 0 ? __fmaf_rn(rounded_sum(t, h, e), scale, 0.0F) : results_[t][h][e];
          store(h * 8 + at_.q * 2 + e % 2, channel, sum, bias);
        }
      }
    }
  }

 private:
  // A byte for each tile's channel g and g + 8, lowest first.
  __device__ void load_zero_points(int slice) {
    if constexpr (kBits == 4) {
#pragma unroll
      for (int i = 0; i < kGroups; ++i) {
        const int group = slice * kGroups + i;
        zero_points_[i] = 0;
#pragma unroll
        for (int place = 0; place < 2 * kBatchTiles; ++place) {
          const int channel = tiles_.tile(place / 2) * kRowChannels + at_.g + place % 2 * 8;
          const bool is_there =
              tiles_.has(place / 2) && channel < job_.out_features && group < job_.groups;
          const int zero_point =
              is_there ? zero_point_of(job_, std::int64_t{channel} * job_.groups + group) : 0;
          zero_points_[i] |= static_cast<std::uint32_t>(zero_point & 0xFF) << (8 * place);
        }
      }
    }
  }

  // 16 channels x 32 input features as the rows of a product; 4 bits minus their zero_points.
  __device__ void load_weights(std::uint32_t (&a)[4], const std::uint8_t* rows,
                               std::uint32_t zero_points, int tile) const {
    const std::uint8_t* upper = rows + at_.g * batch_stride(kBits) + at_.q * kBits;
    const std::uint8_t* lower = upper + 8 * batch_stride(kBits);
    if constexpr (kBits == 8) {
      const uint2 first = *reinterpret_cast<const uint2*>(upper);
      const uint2 second = *reinterpret_cast<const uint2*>(lower);
      a[0] = first.x;
      a[1] = second.x;
      a[2] = first.y;
      a[3] = second.y;
    } else {
      const auto first = *reinterpret_cast<const std::uint32_t*>(upper) ^ job_.flip;
      const auto second = *reinterpret_cast<const std::uint32_t*>(lower) ^ job_.flip;
      const std::uint32_t low = __byte_perm(zero_points, 0, tile == 0 ? 0x0000 : 0x2222);
      const std::uint32_t high = __byte_perm(zero_points, 0, tile == 0 ? 0x1111 : 0x3333);
      // Bit 7 keeps a byte's difference from borrowing; it is inverted back.
      const auto minus = [](std::uint32_t nibbles, std::uint32_t zero_point) {
        return (((nibbles & 0x0F0F0F0Fu) | 0x80808080u) - zero_point) ^ 0x80808080u;
      };
      a[0] = minus(first, low);
      a[1] = minus(second, high);
      a[2] = minus(first >> 4, low);
      a[3] = minus(second >> 4, high);
    }
  }

  __device__ void multiply_step(const std::uint8_t* stage, const std::uint8_t* digits, int i,
                                std::uint32_t high_digits, std::uint32_t zero_points) {
    std::uint32_t a[kBatchTiles][4];
    const bool both = tiles_.has(1);
    load_weights(a[0], stage + i * 4 * kBits, zero_points, 0);
    if (both) {
      load_weights(a[1], stage + kRowChannels * batch_stride(kBits) + i * 4 * kBits, zero_points,
                   1);
    }
#pragma unroll
    for (int digit = 0; digit < kRowDigits; ++digit) {
      if (digit == 4 && (high_digits & 0xFFFF) == 0) break;
      if (digit == 5 && (high_digits & 0xFF00) == 0) break;
#pragma unroll
      for (int h = 0; h < kHalves; ++h) {
        const uint2 b = *reinterpret_cast<const uint2*>(
            digits + (digit * kXRows + h * 8) * batch_plane_bytes(kBits) + 32 * i);
        multiply_a<false>(sums_[0][digit][h], a[0], b.x, b.y);
        if (both) multiply_a<false>(sums_[1][digit][h], a[1], b.x, b.y);
      }
    }
  }

  // Rounds the sums of a group, adds them with their scales and clears them.
  __device__ void add_group(const std::uint8_t* stage, int i) {
    const auto* scales =
        reinterpret_cast<const float*>(stage + BatchStream<kBits, kGroup>::kScalesAt);
#pragma unroll
    for (int t = 0; t < kBatchTiles; ++t) {
      if (!tiles_.has(t)) continue;
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const float scale = scales[(t * kRowChannels + at_.g + e / 2 * 8) * kGroups + i];
#pragma unroll
        for (int h = 0; h < kHalves; ++h) {
          std::int64_t sum = 0;  // below 2^55
#pragma unroll
          for (int digit = kRowDigits - 1; digit >= 0; --digit) {
            sum = sum * 256 + sums_[t][digit][h][e];
            sums_[t][digit][h][e] = 0;
          }
          if (group_is_there(i)) {
            results_[t][h][e] = __fmaf_rn(__ll2float_rn(sum), scale, results_[t][h][e]);
          }
        }
      }
    }
    if (i == kGroups - 1) group_ += kGroups;
  }

  // The last slice may have fewer groups.
  __device__ bool group_is_there(int i) const { return group_ + i < job_.groups; }

  __device__ float rounded_sum(int t, int h, int e) const {
    std::int32_t sums[kRowDigits];
#pragma unroll
    for (int digit = 0; digit < kRowDigits; ++digit) sums[digit] = sums_[t][digit][h][e];
    return rounded(combine(sums));
  }

  const LinearJob& job_;
  const BatchPlan& plan_;
  const BatchTiles tiles_;
  BatchStream<kBits, kGroup> stream_;
  const std::uint8_t* digits_;
  RowLane at_;
  int group_ = 0;  // the first one of the slice
  std::int32_t sums_[kBatchTiles][kRowDigits][kHalves][4] = {};
  float results_[kBatchTiles][kHalves][4] = {};
  std::uint32_t zero_points_[kGroups] = {};
};

}  // namespace qsim::golden::cuda
