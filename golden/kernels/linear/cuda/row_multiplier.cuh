// One warp's products of weights and digits on tensor cores, for linear_rows.cu.
#pragma once

#include "golden/kernels/linear/cuda/row_digits.cuh"
#include "golden/kernels/linear/cuda/row_stream.cuh"

namespace qsim::golden::cuda {

// Places of a lane, as tensor_core.cuh numbers them.
struct RowLane {
  int g, q;
  __device__ RowLane()
      : g(static_cast<int>(threadIdx.x) % 32 / 4), q(static_cast<int>(threadIdx.x) % 4) {}
};

// kBytes (4, 8, 16, or 32 as two times 16) consecutive bytes of shared memory, aligned to them or
// to 16.
template <int kBytes>
__device__ inline void load_words(std::uint32_t (&words)[kBytes / 4], const std::uint8_t* from) {
  if constexpr (kBytes >= 16) {
#pragma unroll
    for (int i = 0; i < kBytes / 16; ++i) {
      const uint4 four = reinterpret_cast<const uint4*>(from)[i];
      words[4 * i] = four.x;
      words[4 * i + 1] = four.y;
      words[4 * i + 2] = four.z;
      words[4 * i + 3] = four.w;
    }
  } else if constexpr (kBytes == 8) {
    const uint2 two = *reinterpret_cast<const uint2*>(from);
    words[0] = two.x;
    words[1] = two.y;
  } else {
    words[0] = *reinterpret_cast<const std::uint32_t*>(from);
  }
}

template <int kBits, int kGroup, int kWarps>
class RowMultiplier {
 public:
  using Stream = RowStream<kBits, kGroup, kWarps>;
  using Cursor = typename Stream::Cursor;
  static constexpr int kGroups = Stream::kGroups;  // of a slice
  static constexpr int kReadBytes = row_read_bytes(kBits, kGroup);
  static constexpr int kReads = row_reads(kBits, kGroup);
  static constexpr int kReadFeatures = kReadBytes * 8 / kBits;  // of a lane at once
  // Sums that each lane rounds after a slice: four lanes have two channels of each group.
  static constexpr int kRounds = (kGroups + 1) / 2;

  __device__ RowMultiplier(const LinearJob& job, const RowPlan& plan, const RowTiles& tiles,
                           std::uint8_t* shared)
      : job_(job),
        cursor_(job, tiles, plan.slices),
        stream_(job, plan, tiles, shared),
        group_sums_(reinterpret_cast<const std::int64_t*>(shared + plan.sums_at)),
        flip_(job.flip & 0x0F0F0F0Fu),
        groups_(job.groups),
        has_zero_points_(job.zero_points != nullptr) {
    keep_in_register(flip_);
    keep_in_register(groups_);
    // Columns 6 and 7 of the product are not used; they take digits whose banks are free.
    digits_ = shared + plan.digits_at +
              (at_.g < kRowDigits ? at_.g : at_.g - 4) * plan.plane_bytes + at_.q * kReadFeatures;
  }

  // Starts to read the weights, before x is there.
  __device__ void begin() { stream_.begin(); }

  // The warp's slices of a tile: `table` becomes what RowFinish takes.
  __device__ void add_tile(int tile, std::uint8_t* table) {
    if constexpr (kGroup == 0) {
      std::int32_t sums[2][4] = {};
      for (; cursor_.tile() == tile; cursor_.advance()) {
        const std::uint8_t* stage = stream_.next();
#pragma unroll
        for (int i = 0; i < kReads; ++i) multiply(sums[0], sums[1], stage, i);
      }
      store_sums(sums, table);
    } else {
      for (; cursor_.tile() == tile; cursor_.advance())
        add_groups(reinterpret_cast<float2*>(table));
    }
  }

 private:
  // The products of read i, added to `even` and `odd` in turn.
  __device__ void multiply(std::int32_t (&even)[4], std::int32_t (&odd)[4],
                           const std::uint8_t* stage, int i) const {
    constexpr int kWords = kReadBytes / 4;
    const std::uint8_t* channel =
        stage + at_.g * kRowSliceBytes + (i ^ at_.g % kReads) * 4 * kReadBytes + at_.q * kReadBytes;
    std::uint32_t upper[kWords];
    std::uint32_t lower[kWords];
    std::uint32_t digits[kReadFeatures / 4];
    load_words<kReadBytes>(upper, channel);
    load_words<kReadBytes>(lower, channel + 8 * kRowSliceBytes);
    load_words<kReadFeatures>(digits,
                              digits_ + cursor_.slice() * row_slice(kBits) + i * 4 * kReadFeatures);
#pragma unroll
    for (int step = 0; step < kReadFeatures / 8; ++step) {
      std::uint32_t a[4];
      if constexpr (kBits == 8) {
        a[0] = upper[2 * step];
        a[1] = lower[2 * step];
        a[2] = upper[2 * step + 1];
        a[3] = lower[2 * step + 1];
      } else {
        const auto nibbles = [&](std::uint32_t word) { return (word ^ flip_) & 0x0F0F0F0Fu; };
        a[0] = nibbles(upper[step]);
        a[1] = nibbles(lower[step]);
        a[2] = nibbles(upper[step] >> 4);
        a[3] = nibbles(lower[step] >> 4);
      }
      multiply_a<false>(step % 2 == 0 ? even : odd, a, digits[2 * step], digits[2 * step + 1]);
    }
  }

  __device__ void store_sums(const std::int32_t (&sums)[2][4], std::uint8_t* table) const {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    auto* to = reinterpret_cast<std::int32_t*>(table) + warp * kRowChannels * 8 + at_.q * 2;
    *reinterpret_cast<int2*>(to + at_.g * 8) =
        make_int2(sums[0][0] + sums[1][0], sums[0][1] + sums[1][1]);
    *reinterpret_cast<int2*>(to + (at_.g + 8) * 8) =
        make_int2(sums[0][2] + sums[1][2], sums[0][3] + sums[1][3]);
  }

  // This lane rounds the sum of one channel and group in each round.
  __device__ int local_channel() const { return at_.g + at_.q % 2 * 8; }
  __device__ int group_of(int round) const { return 2 * round + at_.q / 2; }
  __device__ bool rounds(int round) const {
    return group_of(round) < kGroups && cursor_.slice() * kGroups + group_of(round) < groups_;
  }

  // The sums of a slice's groups to `table`, rounded.
  __device__ void add_groups(float2* table) {
    std::uint8_t* stage = stream_.next();
    std::int32_t sums[kGroups][4] = {};
#pragma unroll
    for (int i = 0; i < kReads; ++i) {
      auto& of_group = sums[i * kGroups / kReads];
      multiply(of_group, of_group, stage, i);
    }
    __syncwarp();  // all lanes have read their weights: the stage takes the pairs of digits
    auto* pairs = reinterpret_cast<std::int32_t*>(stage);
    store_pairs(sums, pairs);
    __syncwarp();
    const auto* scales = reinterpret_cast<const float*>(stage + Stream::kScalesAt);
    float2* row = table + local_channel() * (groups_ + 1) + cursor_.slice() * kGroups;
#pragma unroll
    for (int round = 0; round < kRounds; ++round) {
      // The stage and `group_sums_` have numbers for groups that are not there too.
      const int group = group_of(round);
      const std::int64_t sum = group_sum(stage, round);
      const float scale = scales[local_channel() * kGroups + (kGroups == 1 ? 0 : group)];
      if (rounds(round)) row[group] = make_float2(__ll2float_rn(sum), scale);
    }
  }

  // pairs[round][item][g][q]: digits 2q and 2q + 1 of an item, which is a channel (g or g + 8) of
  // one of two groups. A pair is below 2^21 * 257 < 2^30.
  __device__ void store_pairs(const std::int32_t (&sums)[kGroups][4], std::int32_t* pairs) const {
#pragma unroll
    for (int i = 0; i < 2 * kGroups; ++i) {
      const std::int32_t pair = sums[i / 2][i % 2 * 2] + sums[i / 2][i % 2 * 2 + 1] * 256;
      pairs[i * 32 + at_.g * 4 + at_.q] = pair;
    }
  }

  // A group's sum is below 2^55, so it is converted once.
  __device__ std::int64_t group_sum(const std::uint8_t* stage, int round) const {
    const int4 pairs = reinterpret_cast<const int4*>(stage)[(round * 4 + at_.q) * 8 + at_.g];
    std::int64_t sum = static_cast<std::int64_t>(pairs.y) * 65536 + pairs.x +
                       (static_cast<std::int64_t>(pairs.z) << 32);
    if constexpr (kBits == 4) {
      const int group = cursor_.slice() * kGroups + group_of(round);
      const std::uint8_t* bytes =
          stage + Stream::kZeroPointsAt + local_channel() * Stream::kZeroPointBytes;
      const std::uint32_t byte = bytes[group % Stream::kZeroPointBytes];
      sum -= group_sums_[group] * (has_zero_points_ ? static_cast<int>((byte ^ flip_) & 15) : 8);
    }
    return sum;
  }

  const LinearJob& job_;
  Cursor cursor_;  // of the slice to multiply next
  Stream stream_;
  const std::uint8_t* digits_;
  const std::int64_t* group_sums_;
  std::uint32_t flip_;  // of the low bits of each byte
  int groups_;
  bool has_zero_points_;
  RowLane at_;
};

}  // namespace qsim::golden::cuda
