// Binary convolution with wgmma on bits (compute capability 9.0). A block of threads keeps the
// weights of its channels, all bases, in shared memory. One warpgroup brings windows; the others
// take tiles of 64 pixels in turn and need no barrier among them: while one finishes its sums, the
// others multiply.
#include "core/base/error.h"
#include "golden/device/launch.cuh"
#include "golden/device/shared_memory.cuh"
#include "golden/device/tensor_core.cuh"
#include "golden/kernels/binary/cuda/kernels/conv_hopper_load.cuh"
#include "golden/kernels/binary/cuda/kernels/conv_kernels.h"
#include "golden/kernels/binary/cuda/kernels/conv_tile.cuh"

namespace qsim::golden::cuda {
namespace {

template <BinaryTile kTile>
class HopperMultiply {
 public:
  static constexpr int kColumns = shape_of(kTile).columns();

  // `counts`: two sets of [2 halves][64 rows], of this warpgroup.
  __device__ HopperMultiply(const BinaryConvArgs& args, StageBarriers barriers, int warpgroup,
                            std::uint8_t* shared, std::uint32_t* counts)
      : args_(args),
        barriers_(barriers),
        warpgroup_(warpgroup),
        shared_(shared),
        counts_(counts),
        weights_(bit_operand(shared_address(shared + SharedPlaces::block()), kColumns)) {}

  __device__ void multiply(std::uint32_t /*tile*/, std::int32_t /*position*/, std::int32_t chunk,
                           std::int32_t /*base*/, std::int32_t (&both)[kColumns / 2],
                           std::int32_t (&ones)[2]) {
    constexpr std::uint32_t kStepUnits = kColumns * kStepBytes / 16;
    constexpr std::uint32_t kInputUnits = SharedPlaces::kStageBytesOfStep / 16;
    std::uint32_t weights = weights_ + static_cast<std::uint32_t>(chunk * args_.steps) * kStepUnits;
    std::uint32_t mine = 0;
#pragma unroll 1
    for (std::int32_t first = 0; first < args_.steps; first += args_.stage_steps) {
      barriers_.full(warpgroup_, turn_.stage).wait(turn_.parity);
      fence_shared_for_wgmma();
      const std::uint8_t* stage = stage_place();
      std::uint32_t input = bit_operand(shared_address(stage), kTileRows);
      wgmma_fence();
#pragma unroll 1
      for (std::int32_t step = 0; step < args_.stage_steps; ++step) {
        wgmma_bits<kColumns>(both, whole_operand(input), whole_operand(weights), first + step);
        input += kInputUnits;
        weights += kStepUnits;
      }
      wgmma_commit();
      mine += count_ones(stage);
      wgmma_wait<0>();
      pin(both);
      barriers_.empty(warpgroup_, turn_.stage).arrive();
      turn_.advance(args_.stages);
    }
    exchange_counts(mine, ones);
  }

 private:
  __device__ const std::uint8_t* stage_place() const {
    return shared_ + SharedPlaces::stages(args_, shape_of(kTile).warpgroups) +
           (warpgroup_ * args_.stages + turn_.stage) * args_.stage_steps *
               SharedPlaces::kStageBytesOfStep;
  }

  // The popcount of this thread's part of a stage: 16 bytes of each step, of row thread % 64. The
  // tensor cores multiply meanwhile.
  __device__ std::uint32_t count_ones(const std::uint8_t* stage) const {
    const auto* words = reinterpret_cast<const uint4*>(stage) + threadIdx.x % kWarpgroupThreads;
    std::uint32_t count = 0;
#pragma unroll 3
    for (std::int32_t step = 0; step < args_.stage_steps; ++step) {
      const uint4 word = words[step * (SharedPlaces::kStageBytesOfStep / 16)];
      count += __popc(word.x) + __popc(word.y) + __popc(word.z) + __popc(word.w);
    }
    return count;
  }

  // The popcounts of a thread's two rows, of what two threads counted of each. The sets take turns,
  // so that one barrier is enough: a thread that writes a set again has passed the other's barrier.
  __device__ void exchange_counts(std::uint32_t mine, std::int32_t (&ones)[2]) {
    std::uint32_t* counts = counts_ + set_ * (2 * kTileRows);
    set_ ^= 1;
    counts[threadIdx.x % kWarpgroupThreads] = mine;
    asm volatile("bar.sync %0, %1;" ::"r"(1 + warpgroup_), "n"(kWarpgroupThreads) : "memory");
    const std::uint32_t row = threadIdx.x % kWarpgroupThreads / 32 * 16 + threadIdx.x % 32 / 4;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      ones[h] = static_cast<std::int32_t>(counts[row + 8 * h] + counts[kTileRows + row + 8 * h]);
    }
  }

  const BinaryConvArgs& args_;
  StageBarriers barriers_;
  int warpgroup_;
  std::uint8_t* shared_;
  std::uint32_t* counts_;
  std::uint32_t weights_;
  std::uint32_t set_ = 0;
  StageTurn turn_;
};

template <BinaryTile kTile>
__global__ void __launch_bounds__((shape_of(kTile).warpgroups + 1) * kWarpgroupThreads, 1)
    hopper_conv(const __grid_constant__ BinaryConvArgs args) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  constexpr int kWarpgroups = shape_of(kTile).warpgroups;
  constexpr bool kMany = kTile == BinaryTile::kAnyBases;
  // Those that multiply have most of the registers.
  constexpr int kRegistersToLoad = kWarpgroups == 2 ? 40 : 56;
  constexpr int kRegistersToMultiply = kWarpgroups == 2 ? 232 : 152;
  std::uint8_t* shared = dynamic_shared();
  StageBarriers barriers(shared, args.stages);
  start_next_kernel();
  if (args.constant == 0) wait_for_last_kernel();  // which may write the tables
  const std::uint8_t* common = shared + SharedPlaces::common(args);
  if (threadIdx.x == 0) {
    barriers.init(kWarpgroups);
    const std::int32_t block = static_cast<std::int32_t>(blockIdx.x) % args.channel_blocks;
    const auto block_bytes = static_cast<std::uint32_t>(args.block_bytes);
    barriers.common().arrive_expecting(args.common_bytes);
    copy_bytes(args.packed, shared_address(common), args.common_bytes, barriers.common());
    barriers.block().arrive_expecting(block_bytes);
    copy_bytes(args.packed + args.common_bytes + block * args.block_bytes,
               shared_address(shared + SharedPlaces::block()), block_bytes, barriers.block());
  }
  __syncthreads();
  if (args.constant != 0) wait_for_last_kernel();
  barriers.common().wait(0);
  const int group = __shfl_sync(0xFFFFFFFFu, static_cast<int>(threadIdx.x) / kWarpgroupThreads, 0);
  if (group == kWarpgroups) {
    give_registers<kRegistersToLoad>();
    load_windows<kWarpgroups>(args, barriers, common,
                              shared_address(shared + SharedPlaces::stages(args, kWarpgroups)),
                              kMany ? args.weight_bases : 1);
  } else {
    take_registers<kRegistersToMultiply>();
    barriers.block().wait(0);
    auto* counts = reinterpret_cast<std::uint32_t*>(shared + SharedPlaces::counts(args) +
                                                    group * SharedPlaces::kCounts);
    HopperMultiply<kTile> multiply(args, barriers, group, shared, counts);
    auto* kept =
        reinterpret_cast<float*>(shared + SharedPlaces::kept(args, kWarpgroups)) + threadIdx.x;
#pragma unroll 1
    for (std::uint32_t round = 0;; ++round) {
      const std::uint32_t tile = tile_of(args, round, group, kWarpgroups);
      if (!is_there(args, tile)) break;
      TileLoop<kTile, kMany>::run(args, multiply, shared + SharedPlaces::block(), common, tile,
                                  kept);
    }
  }
#else
  __trap();  // compiled for an architecture without wgmma
#endif
}

template <BinaryTile kTile>
void launch(const BinaryConvArgs& args, std::int64_t shared_bytes, int multiprocessors,
            cudaStream_t stream) {
  const std::int64_t tiles = (std::int64_t{args.output_rows} + kTileRows - 1) / kTileRows;
  const std::int64_t most = std::max(1, multiprocessors / args.channel_blocks);
  const std::int64_t workers = std::min(most, tiles);
  allow_all_shared_memory(hopper_conv<kTile>);
  launch_kernel("launching a binary convolution", hopper_conv<kTile>, workers * args.channel_blocks,
                (shape_of(kTile).warpgroups + 1) * kWarpgroupThreads,
                static_cast<std::size_t>(shared_bytes), stream, args);
}

}  // namespace

void launch_hopper(BinaryTile tile, const BinaryConvArgs& args, std::int64_t shared_bytes,
                   int multiprocessors, cudaStream_t stream) {
  switch (tile) {
    case BinaryTile::kAnyBases:
      return launch<BinaryTile::kAnyBases>(args, shared_bytes, multiprocessors, stream);
    case BinaryTile::kOneBase:
      return launch<BinaryTile::kOneBase>(args, shared_bytes, multiprocessors, stream);
    case BinaryTile::kOneByOne:
      return launch<BinaryTile::kOneByOne>(args, shared_bytes, multiprocessors, stream);
    case BinaryTile::kTwoBases:
      return launch<BinaryTile::kTwoBases>(args, shared_bytes, multiprocessors, stream);
    case BinaryTile::kThreeBases:
      return launch<BinaryTile::kThreeBases>(args, shared_bytes, multiprocessors, stream);
    default:
      break;
  }
  QSIM_CHECK(false, "a tile of another family");
}

}  // namespace qsim::golden::cuda
