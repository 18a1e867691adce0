// A warp's weights through a ring of stages in shared memory, for linear_rows.cu.
#pragma once

#include "golden/device/tensor_core.cuh"
#include "golden/linear/cuda/linear_values.cuh"
#include "golden/linear/cuda/row_plan.h"

namespace qsim::golden::cuda {

// Until the oldest of `stages` - 1 groups of copies has come.
__device__ inline void wait_for_oldest_of(int stages) {
  switch (stages) {
    case 2:
      return wait_copies<0>();
    case 3:
      return wait_copies<1>();
    case 4:
      return wait_copies<2>();
    case 5:
      return wait_copies<3>();
    case 6:
      return wait_copies<4>();
    case 7:
      return wait_copies<5>();
    default:
      return wait_copies<6>();
  }
}

// The tiles of a block: first, first + step, ...
struct RowTiles {
  int first, step, end;
};

// A slice of a tile. The slices of all tiles of a block, one after the other, take turns on warps.
class RowCursor {
 public:
  __device__ RowCursor(const RowTiles& tiles, int slices, int warp)
      : tile_(tiles.first), slice_(warp), step_(tiles.step), slices_(slices) {
    carry();
  }
  __device__ int tile() const { return tile_; }
  __device__ int slice() const { return slice_; }
  __device__ void advance() {
    slice_ += kRowWarps;
    carry();
  }

 private:
  __device__ void carry() {
    while (slice_ >= slices_) {
      slice_ -= slices_;
      tile_ += step_;
    }
  }
  int tile_, slice_, step_, slices_;
};

template <int kBits, int kGroup>
class RowStream {
 public:
  static constexpr int kStride = row_stage_stride(kBits);
  static constexpr int kStageBytes = row_stage_bytes(kBits, kGroup);
  static constexpr int kScalesAt = kRowChannels * kStride;
  static constexpr int kGroups = kGroup == 0 ? 1 : row_slice(kBits) / (kGroup == 0 ? 1 : kGroup);

  __device__ RowStream(const LinearJob& job, const RowPlan& plan, const RowTiles& tiles,
                       std::uint8_t* shared)
      : job_(job),
        cursor_(tiles, plan.slices, static_cast<int>(threadIdx.x) / 32),
        end_(tiles.end),
        stages_(plan.stages),
        row_bytes_((job.in_features * kBits + 127) / 128 * 16),
        lane_(static_cast<int>(threadIdx.x) % 32),
        ring_(shared + plan.stages_at +
              static_cast<int>(threadIdx.x) / 32 * plan.stages * kStageBytes) {}

  // Starts all stages but one.
  __device__ void begin() {
    for (int i = 0; i < stages_ - 1; ++i) start_next();
  }

  // The stage of the warp's next slice, which has come; starts the slice that takes the stage read
  // before.
  __device__ const std::uint8_t* next() {
    wait_for_oldest_of(stages_);
    __syncwarp();
    start_next();
    const std::uint8_t* stage = ring_ + read_ * kStageBytes;
    read_ = read_ + 1 == stages_ ? 0 : read_ + 1;
    return stage;
  }

 private:
  __device__ void start_next() {
    if (cursor_.tile() < end_) {
      std::uint8_t* stage = ring_ + write_ * kStageBytes;
      copy_weights(stage);
      if constexpr (kGroup != 0) copy_scales(stage);
      cursor_.advance();
    }
    commit_copies();
    write_ = write_ + 1 == stages_ ? 0 : write_ + 1;
  }

  // Eight lanes have a channel's 128 bytes. What lies beyond the weights is not written: its digits
  // are 0, or its channel is not stored.
  __device__ void copy_weights(std::uint8_t* stage) {
    const int channel = cursor_.tile() * kRowChannels + lane_ / 8;
    const int byte = cursor_.slice() * kRowSliceBytes + lane_ % 8 * 16;
    const std::uint8_t* from = job_.values + channel * job_.row_bytes + byte;
    const std::uint32_t to =
        to_shared(stage) + static_cast<std::uint32_t>(lane_ / 8 * kStride + lane_ % 8 * 16);
#pragma unroll
    for (int i = 0; i < kRowChannels / 4; ++i) {
      if (byte < row_bytes_ && channel + 4 * i < job_.out_features) {
        copy_async<16>(to + 4 * i * kStride, from + 4 * i * job_.row_bytes);
      }
    }
  }

  __device__ void copy_scales(std::uint8_t* stage) {
    const std::uint32_t to = to_shared(stage) + kScalesAt;
#pragma unroll
    for (int first = 0; first < kRowChannels * kGroups; first += 32) {
      const int place = first + lane_;
      const int channel = cursor_.tile() * kRowChannels + place / kGroups;
      const int group = cursor_.slice() * kGroups + place % kGroups;
      if (place >= kRowChannels * kGroups || channel >= job_.out_features || group >= job_.groups) {
        continue;
      }
      const std::int64_t index = std::int64_t{channel} * job_.groups + group;
      copy_async<4>(to + static_cast<std::uint32_t>(place) * 4, job_.scales + index);
      if (kBits == 4 && job_.zero_points != nullptr) {
        asm volatile("prefetch.global.L2 [%0];" ::"l"(job_.zero_points + index));
      }
    }
  }

  const LinearJob& job_;
  RowCursor cursor_;  // of the slice to start next
  int end_;
  int stages_;
  int row_bytes_;
  int lane_;
  std::uint8_t* ring_;
  int read_ = 0;
  int write_ = 0;
};

}  // namespace qsim::golden::cuda
