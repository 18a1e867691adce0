// The Hopper convolution as a kernel: consumer warpgroups and a producer, persistent over
// tiles, or one tile a cluster (geometry.split > 1).
#pragma once

#include "golden/graph/cuda/kernels/conv_wgmma_epilogue.cuh"
#include "golden/graph/cuda/kernels/conv_wgmma_pipeline.cuh"
#include "golden/graph/cuda/kernels/conv_wgmma_split.cuh"

namespace qsim::golden::cuda {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

template <bool kUnsigned, int kRowBytes, int kTaps, class Tile>
class ConvBlock {
 public:
  using Pipeline = ConvPipeline<kUnsigned, kRowBytes, kTaps, Tile>;

  __device__ ConvBlock(const ConvWgmmaArgs& args, Barriers& barriers, std::uint32_t buffers,
                       int group)
      : args_(args), pipeline_(args, barriers, buffers, group), buffers_(buffers) {
    const ConvGeometry& g = args.geometry;
    stages_ = g.channel_blocks * g.block_stages;
    jobs_ = g.row_tiles * g.column_blocks.divisor();
  }

  // Every gridDim.x-th tile.
  __device__ void run_producer() {
    int i = static_cast<int>(blockIdx.x);
    pipeline_.produce_first(job(i, 0, stages_));
    while ((i += static_cast<int>(gridDim.x)) < jobs_) pipeline_.produce(job(i, 0, stages_));
  }
  template <Finish kFinish>
  __device__ void run_consumer(int group) {
    int lead = lead_stages();
    if (group != 0 && lead > 0) Pipeline::wait_for_lead(group);
    fetch_other<kFinish>(static_cast<int>(blockIdx.x), group);
    for (int i = static_cast<int>(blockIdx.x); i < jobs_; i += static_cast<int>(gridDim.x)) {
      const Job work = job(i, 0, stages_);
      const TileStore<Tile, kFinish> outputs(args_, work.row_tile, work.column_block, group);
      fetch_other<kFinish>(i + static_cast<int>(gridDim.x), group);
      typename Pipeline::Accumulators acc;
      pipeline_.multiply(work, lead, acc);
      lead = 0;
      outputs.store(acc);
    }
  }

  __device__ void run_split_producer(int rank) { pipeline_.produce_first(split_job(rank)); }
  __device__ void run_split_consumer(int rank) {
    typename Pipeline::Accumulators acc;
    pipeline_.multiply(split_job(rank), 0, acc);
    // The buffers are free once both warpgroups have read them.
    asm volatile("bar.sync 1, %0;" ::"n"(Tile::kConsumers) : "memory");
    SplitTile<Tile>(args_, buffers_).leave(acc);
  }
  __device__ void finish_split(int rank) {
    SplitTile<Tile>(args_, buffers_).finish(split_job(rank), rank);
  }

 private:
  // The other operand of tile `i`, which memory takes longer to bring than a tile's products take.
  template <Finish kFinish>
  __device__ void fetch_other(int i, int group) const {
    if constexpr (adds(kFinish)) {
      if (i >= jobs_) return;
      const Job work = job(i, 0, stages_);
      TileStore<Tile, kFinish>(args_, work.row_tile, work.column_block, group).fetch_other();
    }
  }

  // How many stages a warpgroup begins behind the one before it: as far as the rings let the first
  // run ahead of the last.
  __device__ int lead_stages() const {
    const ConvGeometry& g = args_.geometry;
    // Two warpgroups with one tile lose more by waiting than they gain.
    if (Tile::kWarpgroups == 2 && jobs_ <= static_cast<int>(gridDim.x)) return 0;
    const int ahead = min(g.weight_stages, g.block_stages * g.input_stages);
    return min(stages_, ahead / (Tile::kWarpgroups - 1));
  }

  // Column blocks of one row tile follow each other, so that its input is read from the cache.
  __device__ Job job(int index, int first, int end) const {
    const FastDivisor& columns = args_.geometry.column_blocks;
    const int row_tile = columns.divide(index);
    return {row_tile, index - row_tile * columns.divisor(), first, end};
  }
  __device__ Job split_job(int rank) const {
    const int split = args_.geometry.split;
    return job(static_cast<int>(blockIdx.x) / split, stages_ * rank / split,
               stages_ * (rank + 1) / split);
  }

  const ConvWgmmaArgs& args_;
  Pipeline pipeline_;
  std::uint32_t buffers_;
  int stages_;
  int jobs_;
};

#endif

template <bool kUnsigned, int kRowBytes, int kTaps, class Tile, Finish kFinish>
__global__ void __launch_bounds__(Tile::kThreads, 1)
    conv_wgmma_kernel(const __grid_constant__ ConvWgmmaArgs args) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ std::uint8_t shared[];
  __shared__ Barriers barriers;
  const std::uint32_t buffers =
      (shared_address(shared) + kBoxAlignment - 1) / kBoxAlignment * kBoxAlignment;
  constexpr bool kSplit = kFinish == Finish::kSplit;
  using Block = ConvBlock<kUnsigned, kRowBytes, kTaps, Tile>;
  // The same for a whole warp, which the shuffle tells the compiler: wgmma needs to know.
  const int group = __shfl_sync(0xFFFFFFFFu, static_cast<int>(threadIdx.x) / 128, 0);
  if (threadIdx.x == 0) Block::Pipeline::init(barriers);
  __syncthreads();
  Block block(args, barriers, buffers, group);
  start_next_kernel();
  // A cluster's blocks follow each other. (The compiler knows that blockIdx is uniform, which wgmma
  // needs.)
  const int rank = static_cast<int>(blockIdx.x) % args.geometry.split;
  if (group == Tile::kWarpgroups) {
    give_registers<Tile::kProducerRegisters>();
    if (threadIdx.x == Tile::kConsumers) {
      prefetch_map(&args.input);
      prefetch_map(&args.weights);
      if constexpr (kSplit) {
        block.run_split_producer(rank);
      } else {
        block.run_producer();
      }
    }
    if constexpr (kSplit) {
      __syncwarp();
      cluster_sync();
      cluster_sync();
    }
  } else {
    take_registers<Tile::kConsumerRegisters>();
    wait_for_last_kernel();  // it may still read what this one writes
    if constexpr (kSplit) {
      block.run_split_consumer(rank);
      cluster_sync();
      block.finish_split(rank);
      cluster_sync();  // nobody leaves while others read its sums
    } else {
      block.template run_consumer<kFinish>(group);
    }
  }
#else
  __trap();  // compiled for an architecture without wgmma
#endif
}

}  // namespace qsim::golden::cuda
