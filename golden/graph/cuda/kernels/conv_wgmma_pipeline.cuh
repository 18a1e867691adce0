// The loop of the Hopper convolution: a producer warp brings boxes of input pixels and stages of
// weights to shared memory with the copy engine, consumer warpgroups multiply them. Each stage
// has a `full` barrier, on which the copy's bytes count, and an `empty` one, on which the
// consumers' warps arrive when they have read it.
#pragma once

#include "golden/device/hopper.cuh"
#include "golden/graph/cuda/kernels/conv_wgmma_args.h"

namespace qsim::golden::cuda {

struct Barriers {
  MBarrier input_full[kMaxInputStages];
  MBarrier input_empty[kMaxInputStages];
  MBarrier weights_full[kMaxWeightStages];
  MBarrier weights_empty[kMaxWeightStages];
};

// A position in a ring of stages, and the parity of the barriers' next phase.
struct RingPosition {
  int slot = 0;
  std::uint32_t parity = 0;

  __device__ void advance(int stages) {
    if (++slot == stages) {
      slot = 0;
      parity ^= 1;
    }
  }
};

// One row tile and column block, and the part of K that this block of threads takes, in stages.
struct Job {
  int row_tile;
  int column_block;
  int first_stage;
  int end_stage;
};

// The job's stages split over channel blocks: calls f(channel block, first stage in it, end).
template <typename F>
__device__ inline void for_channel_blocks(const ConvGeometry& g, const Job& job, F f) {
  const int per_block = g.block_stages;
  int stage = job.first_stage;
  for (int block = stage / per_block; stage < job.end_stage; ++block) {
    const int start = stage - block * per_block;
    const int end = min(per_block, job.end_stage - block * per_block);
    f(block, start, end);
    stage += end - start;
  }
}

// The first tap of a stage, and how many pixels it lies beyond the box's first. A stage of three
// taps is a row of a window three wide.
template <int kTaps>
struct Tap {
  __device__ Tap(const ConvGeometry& g, int stage) {
    const int y = kTaps == 1 ? stage / g.kernel_w : stage;
    x = kTaps == 1 ? stage - y * g.kernel_w : 0;
    pixels = y * g.pitch + x;
  }
  // Moves on to the next stage.
  __device__ void advance(const ConvGeometry& g) {
    if constexpr (kTaps > 1) {
      pixels += g.pitch;
    } else {
      const bool turns = ++x == g.kernel_w;
      x = turns ? 0 : x;
      pixels += turns ? g.pitch - g.kernel_w + 1 : 1;
    }
  }

  int x;
  int pixels;
};

// kRowBytes: channels of a channel block; kTaps: taps of a stage of weights; Tile: a TileShape.
template <bool kUnsigned, int kRowBytes, int kTaps, class Tile>
class ConvPipeline {
 public:
  static constexpr int kGroups = Tile::kGroups;
  static constexpr int kN = Tile::kN;
  static constexpr std::uint32_t kWeightStageBytes = kTaps * kN * kRowBytes;
  using Accumulators = std::int32_t[kGroups][kN / 2];

  // `group`: the consumer warpgroup; what it is does not matter to the producer.
  __device__ ConvPipeline(const ConvWgmmaArgs& args, Barriers& barriers, std::uint32_t buffers,
                          int group)
      : args_(args), g_(args.geometry), barriers_(barriers), inputs_(buffers), group_(group) {
    units_ = Tile::kTileGroups >> g_.unit_shift;
    input_stage_bytes_ = static_cast<std::uint32_t>(units_ * g_.unit_stride);
    weights_ = inputs_ + static_cast<std::uint32_t>(g_.input_stages) * input_stage_bytes_;
#pragma unroll
    for (int i = 0; i < kGroups; ++i) {
      const int index = group * kGroups + i;  // of the tile's groups
      const int unit = index >> g_.unit_shift;
      const int first_row = (index - (unit << g_.unit_shift)) * kGroupRows;
      input_operands_[i] = operand<kRowBytes>(
          inputs_ + static_cast<std::uint32_t>(unit * g_.unit_stride + first_row * kRowBytes),
          static_cast<std::uint32_t>(g_.group_stride * kRowBytes));
    }
    weight_operand_ = operand<kRowBytes>(weights_, 8 * kRowBytes);
  }

  // Called by one thread.
  __device__ static void init(Barriers& barriers) {
    for (int i = 0; i < kMaxInputStages; ++i) {
      barriers.input_full[i].init(1);
      barriers.input_empty[i].init(Tile::kConsumers / 32);
    }
    for (int i = 0; i < kMaxWeightStages; ++i) {
      barriers.weights_full[i].init(1);
      barriers.weights_empty[i].init(Tile::kConsumers / 32);
    }
    fence_barrier_init();
  }

  // Called by one thread of the producer warp, for its first job: the first stages of weights are
  // on their way before the kernel that makes the input has ended.
  __device__ void produce_first(const Job& job) {
    const int ahead = min(g_.weight_stages, job.end_stage - job.first_stage);
    for (int i = 0; i < ahead; ++i) {
      const int stage = job.first_stage + i;
      produce_weights(job, stage / g_.block_stages, stage % g_.block_stages);
    }
    wait_for_last_kernel();
    produce_from(job, job.first_stage + ahead);
  }
  // The same for later jobs.
  __device__ void produce(const Job& job) { produce_from(job, job.first_stage); }

  // Each warpgroup begins some stages after the one before it and stays behind: while one finishes
  // a tile, the others have the tensor cores. Waits for the one before `group`.
  __device__ static void wait_for_lead(int group) {
    asm volatile("bar.sync %0, 256;" ::"r"(group) : "memory");
  }

  // Called by the threads of a consumer warpgroup; the job's sums are complete on return. After
  // `lead` stages (0: never) the next warpgroup may go on.
  __device__ void multiply(const Job& job, int lead, Accumulators& acc) {
    Reader reader{job.first_stage % g_.block_stages, job.end_stage - job.first_stage, lead};
    Tap<kTaps> tap(g_, reader.in_block);
    barriers_.input_full[input_.slot].wait(input_.parity);
    barriers_.weights_full[weight_.slot].wait(weight_.parity);
    issue<false>(tap, acc);
    go_on(reader, tap);
#pragma unroll 1
    while (reader.left > 0) {
      const Reader before = reader;
      barriers_.weights_full[weight_.slot].wait(weight_.parity);
      issue<true>(tap, acc);
      wgmma_wait<1>();  // for the stage before this one
      release(before);
      go_on(reader, tap);
    }
    wgmma_wait<0>();
#pragma unroll
    for (int i = 0; i < kGroups; ++i) pin(acc[i]);
    release(reader);
  }

 private:
  __device__ void let_next_group_go() const {
    if (group_ + 1 < Tile::kWarpgroups) {
      asm volatile("bar.arrive %0, 256;" ::"r"(group_ + 1) : "memory");
    }
  }

  // A consumer's way through the stages of a job.
  struct Reader {
    int in_block;  // stage within the channel block
    int left;      // stages to issue
    int lead;
    RingPosition input{};  // of the stage that was issued last
    RingPosition weights{};
    bool ends_block = false;  // whether it was its input's last
  };

  // After a stage was issued: on to the next, waiting for its input.
  __device__ void go_on(Reader& reader, Tap<kTaps>& tap) {
    if (--reader.lead == 0) let_next_group_go();
    reader.input = input_;
    reader.weights = weight_;
    weight_.advance(g_.weight_stages);
    --reader.left;
    reader.ends_block = ++reader.in_block == g_.block_stages || reader.left == 0;
    if (!reader.ends_block) return;
    reader.in_block = 0;
    tap = Tap<kTaps>(g_, 0);
    input_.advance(g_.input_stages);
    if (reader.left > 0) barriers_.input_full[input_.slot].wait(input_.parity);
  }

  __device__ void release(const Reader& reader) {
    __syncwarp();
    if (threadIdx.x % 32 != 0) return;
    barriers_.weights_empty[reader.weights.slot].arrive();
    if (reader.ends_block) barriers_.input_empty[reader.input.slot].arrive();
  }

  // Inputs of the job, and its weights from stage `weights_from` on.
  __device__ void produce_from(const Job& job, int weights_from) {
    for_channel_blocks(g_, job, [&](int block, int start, int end) {
      produce_inputs(job, block);
      for (int stage = start; stage < end; ++stage) {
        if (block * g_.block_stages + stage >= weights_from) produce_weights(job, block, stage);
      }
    });
  }

  __device__ void produce_inputs(const Job& job, int block) {
    MBarrier& full = barriers_.input_full[input_.slot];
    barriers_.input_empty[input_.slot].wait(input_.parity ^ 1);
    full.arrive_expecting(static_cast<std::uint32_t>(units_ * g_.unit_bytes));
    std::uint32_t to = inputs_ + static_cast<std::uint32_t>(input_.slot) * input_stage_bytes_;
    const int input_block = block < g_.input_blocks ? block : block % g_.input_blocks;
    for (int i = 0; i < units_; ++i) {
      const int unit = job.row_tile * units_ + i;  // one beyond the last lies outside the batch
      const int picture = g_.picture_units.divide(unit);
      const int in_picture = unit - picture * g_.picture_units.divisor();
      const int unit_y = g_.units_x.divide(in_picture);
      const int unit_x = in_picture - unit_y * g_.units_x.divisor();
      const int x = unit_x * g_.step_x - g_.pad_left;
      const int y = unit_y * g_.step_y - g_.pad_top;
      if (g_.phases == 1) {
        copy_box(&args_.input, full, to, input_block * kRowBytes, x, y, picture);
      } else {
        const int channel = input_block % 2 * g_.input_channels + input_block / 4 * kRowBytes;
        copy_box(&args_.input, full, to, channel, x, input_block / 2 % 2, y, picture);
      }
      to += static_cast<std::uint32_t>(g_.unit_stride);
    }
    input_.advance(g_.input_stages);
  }

  __device__ void produce_weights(const Job& job, int block, int stage) {
    MBarrier& full = barriers_.weights_full[weight_.slot];
    barriers_.weights_empty[weight_.slot].wait(weight_.parity ^ 1);
    full.arrive_expecting(kWeightStageBytes);
    std::uint32_t to = weights_ + static_cast<std::uint32_t>(weight_.slot) * kWeightStageBytes;
    const int first_tap = block * g_.taps + stage * kTaps;
#pragma unroll
    for (int tap = 0; tap < kTaps; ++tap) {
      copy_box(&args_.weights, full, to, 0,
               (first_tap + tap) * g_.padded_channels + job.column_block * kN);
      to += kN * kRowBytes;
    }
    weight_.advance(g_.weight_stages);
  }

  // Issues the products of one stage as one group of wgmmas; leaves `tap` at the next stage's.
  template <bool kAccumulate>
  __device__ void issue(Tap<kTaps>& tap, Accumulators& acc) {
    const std::uint32_t input = static_cast<std::uint32_t>(input_.slot) * input_stage_bytes_ / 16;
    const std::uint64_t weights =
        weight_operand_ + static_cast<std::uint32_t>(weight_.slot) * (kWeightStageBytes / 16);
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < kTaps; ++i) {
      const std::uint64_t b = weights + i * (kN * kRowBytes / 16);
      const auto pixels = input + static_cast<std::uint32_t>(tap.pixels + i) * (kRowBytes / 16);
#pragma unroll
      for (int group = 0; group < kGroups; ++group) {
        const std::uint64_t a = input_operands_[group] + pixels;
#pragma unroll
        for (int k = 0; k < kRowBytes / 32; ++k) {
          const auto depth = static_cast<std::uint64_t>(2 * k);
          wgmma<kN, kUnsigned>(acc[group], a + depth, b + depth, kAccumulate || i + k > 0 ? 1 : 0);
        }
      }
    }
    wgmma_commit();
    tap.advance(g_);
  }

  const ConvWgmmaArgs& args_;
  const ConvGeometry& g_;
  Barriers& barriers_;
  std::uint32_t inputs_;  // shared addresses
  int group_;             // the consumer warpgroup
  std::uint32_t weights_;
  std::uint32_t input_stage_bytes_;
  std::uint64_t input_operands_[kGroups];  // of the first slot and tap
  std::uint64_t weight_operand_;
  int units_;  // of a row tile
  RingPosition input_;
  RingPosition weight_;
};

}  // namespace qsim::golden::cuda
