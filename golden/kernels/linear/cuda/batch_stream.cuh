// A warp's weights through a ring of stages in shared memory, for linear_batch.cu.
#pragma once

#include "golden/device/tensor_core.cuh"
#include "golden/kernels/linear/cuda/batch_plan.h"
#include "golden/kernels/linear/cuda/linear_values.cuh"
#include "golden/kernels/linear/cuda/row_stream.cuh"

namespace qsim::golden::cuda {

// The tiles of a warp: `first`, and kBatchWarps after it. Those from `end` on are not there.
struct BatchTiles {
  int first, end;
  __device__ int tile(int i) const { return first + i * kBatchWarps; }
  __device__ bool has(int i) const { return tile(i) < end; }
};

template <int kBits, int kGroup>
class BatchStream {
 public:
  static constexpr int kStride = batch_stride(kBits);
  static constexpr int kStageBytes = batch_stage_bytes(kBits, kGroup);
  static constexpr int kScalesAt = kBatchTiles * kRowChannels * kStride;
  static constexpr int kGroups = kGroup == 0 ? 1 : row_slice(kBits) / (kGroup == 0 ? 1 : kGroup);

  __device__ BatchStream(const LinearJob& job, const BatchPlan& plan, const BatchTiles& tiles,
                         std::uint8_t* shared)
      : job_(job),
        tiles_(tiles),
        slices_(plan.slices),
        stages_(plan.stages),
        row_bytes_((job.in_features * kBits + 127) / 128 * 16),
        lane_(static_cast<int>(threadIdx.x) % 32),
        ring_(shared + plan.stages_at +
              static_cast<int>(threadIdx.x) / 32 * plan.stages * kStageBytes) {}

  // Starts all stages but one.
  __device__ void begin() {
    for (int i = 0; i < stages_ - 1; ++i) start_next();
  }

  // The stage of the next slice, which has come; starts the slice that takes the stage read before.
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
    if (slice_ < slices_) {
      std::uint8_t* stage = ring_ + write_ * kStageBytes;
#pragma unroll
      for (int i = 0; i < kBatchTiles; ++i) {
        if (!tiles_.has(i)) continue;
        copy_weights(i, stage + i * kRowChannels * kStride);
        if constexpr (kGroup != 0) copy_scales(i, stage);
      }
    }
    commit_copies();
    ++slice_;
    write_ = write_ + 1 == stages_ ? 0 : write_ + 1;
  }

  // Eight lanes have a channel's 128 bytes.
  __device__ void copy_weights(int i, std::uint8_t* stage) {
    const int channel = tiles_.tile(i) * kRowChannels + lane_ / 8;
    const int byte = slice_ * kRowSliceBytes + lane_ % 8 * 16;
    const std::uint8_t* from = job_.values + channel * job_.row_bytes + byte;
    const std::uint32_t to =
        to_shared(stage) + static_cast<std::uint32_t>(lane_ / 8 * kStride + lane_ % 8 * 16);
#pragma unroll
    for (int j = 0; j < kRowChannels / 4; ++j) {
      if (byte < row_bytes_ && channel + 4 * j < job_.out_features) {
        copy_async<16>(to + 4 * j * kStride, from + 4 * j * job_.row_bytes);
      }
    }
  }

  __device__ void copy_scales(int i, std::uint8_t* stage) {
    const std::uint32_t to = to_shared(stage) + kScalesAt + i * kRowChannels * kGroups * 4;
#pragma unroll
    for (int first = 0; first < kRowChannels * kGroups; first += 32) {
      const int place = first + lane_;
      const int channel = tiles_.tile(i) * kRowChannels + place / kGroups;
      const int group = slice_ * kGroups + place % kGroups;
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
  BatchTiles tiles_;
  int slices_;
  int stages_;
  int row_bytes_;
  int lane_;
  std::uint8_t* ring_;
  int slice_ = 0;  // to start next
  int read_ = 0;
  int write_ = 0;
};

}  // namespace qsim::golden::cuda
