// A warp's weights through a ring of stages in shared memory, for linear_rows.cu.
#pragma once

#include "golden/device/tensor_core.cuh"
#include "golden/kernels/linear/cuda/linear_values.cuh"
#include "golden/kernels/linear/cuda/row_plan.h"

namespace qsim::golden::cuda {

// Waits until the oldest of `stages` - 1 groups of copies has come.
__device__ inline void wait_for_oldest_of(int stages) {
  if (stages == 4) {
    wait_copies<2>();
  } else if (stages == 3) {
    wait_copies<1>();
  } else if (stages == 5) {
    wait_copies<3>();
  } else if (stages == 2) {
    wait_copies<0>();
  } else if (stages == 6) {
    wait_copies<4>();
  } else if (stages == 7) {
    wait_copies<5>();
  } else {
    wait_copies<6>();
  }
}

// Keeps the compiler from reading a kernel's argument again and again.
template <typename Value>
__device__ inline void keep_in_register(Value& value) {
  if constexpr (sizeof(Value) == 8) {
    asm volatile("" : "+l"(value));
  } else {
    asm volatile("" : "+r"(value));
  }
}

// The tiles of a block: first, first + step, ...
struct RowTiles {
  int first, step, end;
};

// A slice of a tile. The slices of all tiles of a block, one after the other, take turns on warps.
template <int kWarps, int kGroups>
class RowCursor {
 public:
  __device__ RowCursor(const LinearJob& job, const RowTiles& tiles, int slices)
      : tile_(tiles.first),
        slice_(static_cast<int>(threadIdx.x) / 32),
        step_(tiles.step),
        slices_(slices),
        value_at_(std::int64_t{tiles.first} * kRowChannels * job.row_bytes +
                  slice_ * kRowSliceBytes),
        group_at_(std::int64_t{tiles.first} * kRowChannels * job.groups + slice_ * kGroups),
        value_jump_(tiles.step * kRowChannels * job.row_bytes - slices * kRowSliceBytes),
        group_jump_(tiles.step * kRowChannels * job.groups - slices * kGroups) {
    keep_in_register(step_);
    keep_in_register(slices_);
    carry();
  }
  __device__ int tile() const { return tile_; }
  __device__ int slice() const { return slice_; }
  // Where the tile's first channel has the slice: in `values`, and in `scales` and `zero_points`.
  __device__ std::int64_t value_at() const { return value_at_; }
  __device__ std::int64_t group_at() const { return group_at_; }

  __device__ void advance() {
    slice_ += kWarps;
    value_at_ += kWarps * kRowSliceBytes;
    group_at_ += kWarps * kGroups;
    carry();
  }

 private:
  __device__ void carry() {
    while (slice_ >= slices_) {
      slice_ -= slices_;
      tile_ += step_;
      value_at_ += value_jump_;
      group_at_ += group_jump_;
    }
  }
  int tile_, slice_, step_, slices_;
  std::int64_t value_at_, group_at_, value_jump_, group_jump_;
};

template <int kBits, int kGroup, int kWarps>
class RowStream {
 public:
  static constexpr int kStageBytes = row_stage_bytes(kBits, kGroup);
  static constexpr int kScalesAt = kRowChannels * kRowSliceBytes;
  static constexpr int kGroups = kGroup == 0 ? 1 : row_slice(kBits) / (kGroup == 0 ? 1 : kGroup);
  static constexpr bool kHasZeroPoints = kBits == 4 && kGroup != 0;
  static constexpr int kZeroPointsAt = kScalesAt + kRowChannels * kGroups * 4;
  static constexpr int kZeroPointBytes = row_zero_point_bytes(kGroup == 0 ? 128 : kGroup);
  using Cursor = RowCursor<kWarps, kGroups>;

  __device__ RowStream(const LinearJob& job, const RowPlan& plan, const RowTiles& tiles,
                       std::uint8_t* shared)
      : job_(job),
        cursor_(job, tiles, plan.slices),
        end_(tiles.end),
        stages_(kGroup != 0 ? kGroupedRowStages : plan.stages),
        row_bytes_((job.in_features * kBits + 127) / 128 * 16),
        lane_(static_cast<int>(threadIdx.x) % 32),
        ring_(shared + plan.stages_at +
              static_cast<int>(threadIdx.x) / 32 * stages_ * kStageBytes) {
    values_ = job.values + lane_ / 8 * job.row_bytes + lane_ % 8 * 16;
    place_ = lane_ / 8 * kRowSliceBytes + (lane_ % 8 ^ row_swizzle(kBits, kGroup, lane_ / 8)) * 16;
    scales_ = lane_ / kGroups * job.groups + lane_ % kGroups;
    whole_ = job.out_features % kRowChannels == 0 && row_bytes_ % kRowSliceBytes == 0 &&
             job.groups % kGroups == 0;
    row_step_ = 4 * job.row_bytes;
    keep_in_register(row_step_);
  }

  // Starts all stages but one.
  __device__ void begin() {
    for (int i = 0; i < stages_ - 1; ++i) start_next();
  }

  // The stage of the warp's next slice, which has come; starts the slice that takes the stage read
  // before.
  __device__ std::uint8_t* next() {
    if constexpr (kGroup != 0) {
      wait_copies<kGroupedRowStages - 2>();
    } else {
      wait_for_oldest_of(stages_);
    }
    __syncwarp();
    start_next();
    std::uint8_t* stage = ring_ + read_;
    read_ += kStageBytes;
    if (read_ == stages_ * kStageBytes) read_ = 0;
    return stage;
  }

 private:
  __device__ void start_next() {
    if (cursor_.tile() < end_) {
      const std::uint32_t stage = to_shared(ring_) + static_cast<std::uint32_t>(write_);
      copy_weights(stage);
      if constexpr (kGroup != 0) copy_scales(stage + kScalesAt);
      if constexpr (kHasZeroPoints) {
        if (job_.zero_points != nullptr) copy_zero_points(write_);
      }
      cursor_.advance();
    }
    commit_copies();
    write_ += kStageBytes;
    if (write_ == stages_ * kStageBytes) write_ = 0;
  }

  // Eight lanes have a channel's 128 bytes. What lies beyond the weights is not written: its digits
  // are 0, or its channel is not stored.
  __device__ void copy_weights(std::uint32_t stage) {
    const std::uint8_t* from = values_ + cursor_.value_at();
    if (whole_) {
#pragma unroll
      for (int i = 0; i < kRowChannels / 4; ++i) {
        copy_async<16>(stage + place(i), from + i * row_step_);
      }
      return;
    }
    const int channels = job_.out_features - cursor_.tile() * kRowChannels;
    const int bytes = row_bytes_ - cursor_.slice() * kRowSliceBytes;
#pragma unroll
    for (int i = 0; i < kRowChannels / 4; ++i) {
      if (lane_ % 8 * 16 < bytes && lane_ / 8 + 4 * i < channels) {
        copy_async<16>(stage + place(i), from + i * row_step_);
      }
    }
  }

  // Where this lane's bytes of channel lane / 8 + 4 * i are in a stage.
  __device__ std::uint32_t place(int i) const {
    constexpr int kFlip = row_swizzle(kBits, kGroup, 4) * 16;
    return static_cast<std::uint32_t>((i % 2 == 0 ? place_ : place_ ^ kFlip) +
                                      4 * i * kRowSliceBytes);
  }

  __device__ void copy_scales(std::uint32_t to) {
    if (whole_) {
#pragma unroll
      for (int first = 0; first < kRowChannels * kGroups; first += 32) {
        const int place = first + lane_;
        if (kGroups == 1 && place >= kRowChannels) continue;
        copy_async<4>(to + static_cast<std::uint32_t>(place) * 4,
                      job_.scales + cursor_.group_at() + scales_ +
                          std::int64_t{first / kGroups} * job_.groups);
      }
      return;
    }
    const int channels = job_.out_features - cursor_.tile() * kRowChannels;
    const int groups = job_.groups - cursor_.slice() * kGroups;
#pragma unroll
    for (int first = 0; first < kRowChannels * kGroups; first += 32) {
      const int place = first + lane_;
      if (place >= kRowChannels * kGroups || place / kGroups >= channels ||
          place % kGroups >= groups) {
        continue;
      }
      const std::int64_t index =
          cursor_.group_at() + scales_ + std::int64_t{first / kGroups} * job_.groups;
      copy_async<4>(to + static_cast<std::uint32_t>(place) * 4, job_.scales + index);
    }
  }

  // Whole words, each with the zero_points of up to four groups. Where rows of them do not begin at
  // multiples of four bytes, byte by byte.
  __device__ void copy_zero_points(int stage) {
    constexpr int kWords = kZeroPointBytes / 4;
    const int local = lane_ / kWords;
    const int channels = job_.out_features - cursor_.tile() * kRowChannels;
    const int group = cursor_.slice() * kGroups / 4 * 4 + lane_ % kWords * 4;
    if (local >= kRowChannels || local >= channels || group >= job_.groups) return;
    const std::uint8_t* from = job_.zero_points + cursor_.group_at() +
                               std::int64_t{local} * job_.groups + group -
                               cursor_.slice() * kGroups;
    std::uint8_t* to = ring_ + stage + kZeroPointsAt + lane_ * 4;
    if (job_.words_of_zero_points) {
      copy_async<4>(to_shared(to), from);
      return;
    }
    for (int i = 0; i < 4 && group + i < job_.groups; ++i) to[i] = __ldg(from + i);
  }

  const LinearJob& job_;
  Cursor cursor_;  // of the slice to start next
  int end_;
  int stages_;
  int row_bytes_;
  bool whole_;  // tiles, slices and groups are
  std::int64_t row_step_;
  int lane_;
  std::uint8_t* ring_;
  const std::uint8_t* values_;  // of this lane, of the first slice
  int place_;
  int scales_;
  int read_ = 0;
  int write_ = 0;
};

}  // namespace qsim::golden::cuda
