// The warpgroup that brings windows to shared memory for those that multiply.
#pragma once

#include "golden/device/tensor_core.cuh"
#include "golden/device/wgmma_bits.cuh"
#include "golden/kernels/binary/cuda/kernels/window_words.cuh"

namespace qsim::golden::cuda {

// The barriers at the start of shared memory: two for the tables; then each stage of each warpgroup
// has one that turns when it is full and one that turns when it is empty.
class StageBarriers {
 public:
  __device__ StageBarriers(std::uint8_t* shared, std::int32_t stages)
      : barriers_(reinterpret_cast<MBarrier*>(shared)), stages_(stages) {}

  __device__ void init(int warpgroups) {
    barriers_[0].init(1);
    barriers_[1].init(1);
    for (int i = 0; i < warpgroups * stages_; ++i) {
      barriers_[2 + 2 * i].init(kWarpgroupThreads);  // threads that load
      barriers_[3 + 2 * i].init(kWarpgroupThreads);  // that multiply
    }
    fence_barrier_init();
  }
  __device__ MBarrier& common() { return barriers_[0]; }
  __device__ MBarrier& block() { return barriers_[1]; }
  __device__ MBarrier& full(int warpgroup, std::int32_t stage) {
    return barriers_[2 + 2 * (warpgroup * stages_ + stage)];
  }
  __device__ MBarrier& empty(int warpgroup, std::int32_t stage) {
    return barriers_[3 + 2 * (warpgroup * stages_ + stage)];
  }

 private:
  MBarrier* barriers_;
  std::int32_t stages_;
};

// A stage of a ring, and the parity of its turn.
struct StageTurn {
  std::int32_t stage = 0;
  std::uint32_t parity = 0;

  __device__ void advance(std::int32_t stages) {
    if (++stage < stages) return;
    stage = 0;
    parity ^= 1;
  }
};

// Tile `round` of a warpgroup: the tiles of a block of threads go to its warpgroups in turn.
__device__ inline std::uint32_t tile_of(const BinaryConvArgs& args, std::uint32_t round,
                                        int warpgroup, int warpgroups) {
  const std::uint32_t workers = gridDim.x / args.channel_blocks;
  return blockIdx.x / args.channel_blocks + (round * warpgroups + warpgroup) * workers;
}
__device__ inline bool is_there(const BinaryConvArgs& args, std::uint32_t tile) {
  return std::uint64_t{tile} * kTileRows < args.output_rows;
}

// Fills a stage: the words of `stage_steps` steps from `first_step` on, [step][half][64 rows][16
// bytes], of which this thread copies a half of a row.
__device__ inline void fill_stage(const BinaryConvArgs& args, const std::uint8_t* common,
                                  WindowPlace place, std::int32_t base, std::int32_t first_step,
                                  std::uint32_t to) {
  const std::int32_t half = threadIdx.x % 2;
  const std::uint8_t* first = first_word(args, place, base);
  const auto* offsets = table<std::int32_t>(common, 0) + 2 * half;
  to += half * (kTileRows * 16) + threadIdx.x % kWarpgroupThreads / 2 * 16;
  std::uint32_t mask = 0;
#pragma unroll 3
  for (std::int32_t i = 0; i < args.stage_steps; ++i, to += SharedPlaces::kStageBytesOfStep) {
    const std::int32_t kw = kStepWords * (first_step + i);
    if (i == 0 || kw % 32 == 0) mask = inside_mask(args, common, place, kw);
    const std::uint32_t inside = mask >> (kw % 32 + 2 * half);
    const int2 offset = *reinterpret_cast<const int2*>(offsets + kw);
    if (args.has_pairs != 0) {
      copy_if<16>(inside & 1, first + offset.x, to);
    } else {
      copy_if<8>(inside & 1, first + offset.x, to);
      copy_if<8>(inside & 2, first + offset.y, to + 8);
    }
  }
}

// All stages of all tiles, in the order in which the warpgroups take them.
template <int kWarpgroups>
__device__ inline void load_windows(const BinaryConvArgs& args, StageBarriers barriers,
                                    const std::uint8_t* common, std::uint32_t stages,
                                    std::int32_t chunks) {
  const std::uint32_t row = threadIdx.x % kWarpgroupThreads / 2;
  const std::uint32_t stage_bytes = args.stage_steps * SharedPlaces::kStageBytesOfStep;
  const std::int32_t positions = args.pool_size * args.pool_size;
  StageTurn turn;  // that of all, since the first warpgroup has most tiles
  for (std::uint32_t round = 0; is_there(args, tile_of(args, round, 0, kWarpgroups)); ++round) {
    for (std::int32_t position = 0; position < positions; ++position) {
      WindowPlace places[kWarpgroups];
#pragma unroll
      for (int w = 0; w < kWarpgroups; ++w) {
        const std::uint32_t tile = tile_of(args, round, w, kWarpgroups);
        places[w] = window_place(args, common, tile * kTileRows + row, position);
      }
      for (std::int32_t i = 0; i < chunks * args.input_bases; ++i) {
        const std::int32_t base = chunks == 1 ? i : i % args.input_bases;
        for (std::int32_t step = 0; step < args.steps; step += args.stage_steps) {
#pragma unroll
          for (int w = 0; w < kWarpgroups; ++w) {
            if (!is_there(args, tile_of(args, round, w, kWarpgroups))) continue;
            barriers.empty(w, turn.stage).wait(turn.parity ^ 1);
            fill_stage(args, common, places[w], base, step,
                       stages + (w * args.stages + turn.stage) * stage_bytes);
            arrive_after_copies(barriers.full(w, turn.stage));
          }
          turn.advance(args.stages);
        }
      }
    }
  }
}

}  // namespace qsim::golden::cuda
