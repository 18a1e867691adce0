// The linear layer with int8 activations of many rows, for Hopper: a producer warp brings stages of
// weights and codes to shared memory with the copy engine, two warpgroups multiply them (wgmma, 128
// or 256 output channels by 64 or 128 rows of x).
#include "core/base/error.h"
#include "golden/device/hopper.cuh"
#include "golden/device/shared_memory.cuh"
#include "golden/device/tensor_map.h"
#include "golden/kernels/linear/cuda/int8_values.cuh"

namespace qsim::golden::cuda {
namespace {

constexpr int kConsumers = 256;
constexpr int kThreads = kConsumers + 128;
constexpr int kStageDepth = 128;  // input features
constexpr int kMostStages = 8;
constexpr int kBoxAlignment = 1024;

// A block's tile: each warpgroup takes kGroups times 64 output channels, and kRows rows of x.
template <int kGroupsOfTile, int kRowsOfTile>
struct MatrixTile {
  static constexpr int kGroups = kGroupsOfTile;
  static constexpr int kRows = kRowsOfTile;
  static constexpr int kChannels = 2 * kGroups * 64;
  static constexpr std::uint32_t kWeightBytes = kChannels * kStageDepth;
  static constexpr std::uint32_t kStageBytes = kWeightBytes + kRows * kStageDepth;
  static constexpr int kStages = std::min<int>(kMostStages, 220 * 1024 / kStageBytes);
};

struct MatrixPlan {
  int depth_stages;  // of a tile
  int channel_tiles;
  int row_tiles;
  int parts;  // blocks that share the channel tiles of a tile of rows
};

struct MatrixArgs {
  CUtensorMap weights;  // [out_features][in_features]
  CUtensorMap codes;    // [rows][code_stride]
  Int8Job job;
  MatrixPlan plan;
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

struct Barriers {
  MBarrier full[kMostStages];
  MBarrier empty[kMostStages];
};

struct Ring {
  int slot = 0;
  std::uint32_t parity = 0;

  __device__ void advance(int stages) {
    if (++slot == stages) {
      slot = 0;
      parity ^= 1;
    }
  }
};

// The part of the channel tiles that a block takes, and its tile of rows.
struct Part {
  int begin, end, row_tile;

  __device__ Part(const MatrixPlan& plan, int block) : row_tile(block % plan.row_tiles) {
    const std::int64_t part = block / plan.row_tiles;
    begin = static_cast<int>(plan.channel_tiles * part / plan.parts);
    end = static_cast<int>(plan.channel_tiles * (part + 1) / plan.parts);
  }
};

// Called by one thread.
template <class Tile>
__device__ void produce(const MatrixArgs& args, Barriers& barriers, std::uint32_t buffers,
                        const Part& part) {
  const int depth_stages = args.plan.depth_stages;
  const auto copy_weights = [&](int stage, int slot) {
    barriers.full[slot].arrive_expecting(Tile::kStageBytes);
    copy_box(&args.weights, barriers.full[slot],
             buffers + static_cast<std::uint32_t>(slot) * Tile::kStageBytes,
             stage % depth_stages * kStageDepth,
             (part.begin + stage / depth_stages) * Tile::kChannels);
  };
  const auto copy_codes = [&](int stage, int slot) {
    copy_box(&args.codes, barriers.full[slot],
             buffers + static_cast<std::uint32_t>(slot) * Tile::kStageBytes + Tile::kWeightBytes,
             stage % depth_stages * kStageDepth, part.row_tile * Tile::kRows);
  };
  // The first weights do not wait for the codes.
  const int count = (part.end - part.begin) * depth_stages;
  const int first = min(Tile::kStages, count);
  if (!args.job.constant) wait_for_last_kernel();
  for (int i = 0; i < first; ++i) copy_weights(i, i);
  if (args.job.constant) wait_for_last_kernel();
  for (int i = 0; i < first; ++i) copy_codes(i, i);
  Ring ring;
  for (int stage = first; stage < count; ++stage) {
    barriers.empty[ring.slot].wait(ring.parity);
    copy_weights(stage, ring.slot);
    copy_codes(stage, ring.slot);
    ring.advance(Tile::kStages);
  }
}

template <class Tile>
class MatrixConsumer {
 public:
  static constexpr int kGroups = Tile::kGroups;
  static constexpr int kN = Tile::kRows;

  __device__ MatrixConsumer(const MatrixArgs& args, Barriers& barriers, std::uint32_t buffers,
                            int group)
      : args_(args), barriers_(barriers), group_(group) {
    const auto first = static_cast<std::uint32_t>(group * kGroups * 64 * kStageDepth);
    weights_ = operand<kStageDepth>(buffers + first, 8 * kStageDepth);
    codes_ = operand<kStageDepth>(buffers + Tile::kWeightBytes, 8 * kStageDepth);
  }

  __device__ void run(const Part& part) {
    for (int tile = part.begin; tile < part.end; ++tile) {
      multiply(args_.plan.depth_stages);
      store(tile, part.row_tile);
    }
  }

 private:
  __device__ void multiply(int count) {
    int accumulate = 0;
    int before = -1;
    for (int i = 0; i < count; ++i) {
      barriers_.full[ring_.slot].wait(ring_.parity);
      const std::uint64_t at = static_cast<std::uint64_t>(ring_.slot) * (Tile::kStageBytes / 16);
#pragma unroll
      for (auto& sums : sums_) pin(sums);
      wgmma_fence();
#pragma unroll
      for (int k = 0; k < kStageDepth / 32; ++k) {
#pragma unroll
        for (int j = 0; j < kGroups; ++j) {
          wgmma<kN, false>(sums_[j], weights_ + at + j * (64 * kStageDepth / 16) + 2 * k,
                           codes_ + at + 2 * k, accumulate);
        }
        accumulate = 1;
      }
      wgmma_commit();
      // The stage before is read once its products are done.
      wgmma_wait<1>();
#pragma unroll
      for (auto& sums : sums_) pin(sums);
      if (before >= 0 && threadIdx.x % 32 == 0) barriers_.empty[before].arrive();
      before = ring_.slot;
      ring_.advance(Tile::kStages);
    }
    wgmma_wait<0>();
#pragma unroll
    for (auto& sums : sums_) pin(sums);
    if (threadIdx.x % 32 == 0) barriers_.empty[before].arrive();
  }

  __device__ void store(int tile, int row_tile) const {
    const Int8Job& job = args_.job;
    const int warp = static_cast<int>(threadIdx.x) % 128 / 32;
    const int g = static_cast<int>(threadIdx.x) % 32 / 4;
    const int q = static_cast<int>(threadIdx.x) % 4;
#pragma unroll
    for (int j = 0; j < kGroups; ++j) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int channel =
            tile * Tile::kChannels + (group_ * kGroups + j) * 64 + 16 * warp + g + 8 * h;
        if (channel >= job.out_features) continue;
        const float weight_scale = __ldg(job.weight_scales + channel);
        const float bias = job.bias == nullptr ? 0 : __ldg(job.bias + channel);
#pragma unroll
        for (int i = 0; i < kN / 4; ++i) {  // columns 8 * (i / 2) + 2 * q + i % 2
          const std::int64_t row =
              static_cast<std::int64_t>(row_tile) * kN + 8 * (i / 2) + 2 * q + i % 2;
          if (row >= job.rows) continue;
          store_scaled(job, row, channel, sums_[j][4 * (i / 2) + 2 * h + i % 2], weight_scale,
                       __ldcg(job.row_scales + row), bias);
        }
      }
    }
  }

  const MatrixArgs& args_;
  Barriers& barriers_;
  int group_;
  std::uint64_t weights_, codes_;
  Ring ring_;
  std::int32_t sums_[kGroups][kN / 2];
};

#endif

template <class Tile>
__global__ void __launch_bounds__(kThreads, 1)
    int8_matrix(const __grid_constant__ MatrixArgs args) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ std::uint8_t shared[];
  __shared__ Barriers barriers;
  const std::uint32_t buffers =
      (shared_address(shared) + kBoxAlignment - 1) / kBoxAlignment * kBoxAlignment;
  // The same for a whole warp, which the shuffle tells the compiler: wgmma needs to know.
  const int group = __shfl_sync(0xFFFFFFFFu, static_cast<int>(threadIdx.x) / 128, 0);
  if (threadIdx.x == 0) {
    for (int i = 0; i < kMostStages; ++i) {
      barriers.full[i].init(1);
      barriers.empty[i].init(kConsumers / 32);
    }
    fence_barrier_init();
  }
  __syncthreads();
  start_next_kernel();
  const Part part(args.plan, static_cast<int>(blockIdx.x));
  if (group == 2) {
    give_registers<40>();
    if (threadIdx.x == kConsumers) {
      prefetch_map(&args.weights);
      prefetch_map(&args.codes);
      produce<Tile>(args, barriers, buffers, part);
    }
  } else {
    take_registers<232>();
    wait_for_last_kernel();
    MatrixConsumer<Tile>(args, barriers, buffers, group).run(part);
  }
#else
  __trap();  // compiled for an architecture without wgmma
#endif
}

template <class Tile>
void launch(const Int8Job& job, int multiprocessors, cudaStream_t stream) {
  MatrixArgs args{};
  args.weights = make_tensor_map(
      job.weights,
      {static_cast<std::uint64_t>(job.in_features), static_cast<std::uint64_t>(job.out_features)},
      {kStageDepth, Tile::kChannels}, {static_cast<std::uint64_t>(job.row_bytes)});
  const auto stride = static_cast<std::uint64_t>(job.code_stride);
  args.codes = make_tensor_map(job.codes, {stride, static_cast<std::uint64_t>(job.rows)},
                               {kStageDepth, Tile::kRows}, {stride});
  args.job = job;
  args.plan.depth_stages = job.code_stride / kStageDepth;
  // In 64 bits: the sum may be more than 2^31.
  args.plan.channel_tiles =
      static_cast<int>((std::int64_t{job.out_features} + Tile::kChannels - 1) / Tile::kChannels);
  args.plan.row_tiles = static_cast<int>((job.rows + Tile::kRows - 1) / Tile::kRows);
  args.plan.parts = std::clamp(multiprocessors / args.plan.row_tiles, 1, args.plan.channel_tiles);
  const auto kernel = int8_matrix<Tile>;
  allow_all_shared_memory(kernel);
  launch_kernel("launching int8_matrix", kernel,
                static_cast<std::int64_t>(args.plan.parts) * args.plan.row_tiles, kThreads,
                kBoxAlignment + std::size_t{Tile::kStages} * Tile::kStageBytes, stream, args);
}

}  // namespace

// Few channels are divided among twice as many blocks.
void launch_int8_matrix(const Int8Job& job, int multiprocessors, cudaStream_t stream) {
  const std::int64_t tiles =
      (std::int64_t{job.out_features} + 255) / 256 * ((job.rows + 127) / 128);
  const bool few = 2 * tiles <= multiprocessors;
  if (job.rows <= 64) {
    few ? launch<MatrixTile<1, 64>>(job, multiprocessors, stream)
        : launch<MatrixTile<2, 64>>(job, multiprocessors, stream);
  } else {
    few ? launch<MatrixTile<1, 128>>(job, multiprocessors, stream)
        : launch<MatrixTile<2, 128>>(job, multiprocessors, stream);
  }
}

}  // namespace qsim::golden::cuda
