// Binary convolution with wgmma on bits (compute capability 9.0). A block of threads keeps the
// weights of its channels, all bases, in shared memory. Its warpgroups take tiles of 64 pixels in
// turn, load their words into registers, and need no barrier: while one finishes its sums, the
// others multiply.
#include "core/error.h"
#include "golden/binary/cuda/kernels/conv_kernels.h"
#include "golden/binary/cuda/kernels/conv_tile.cuh"
#include "golden/binary/cuda/kernels/wgmma_bits.cuh"
#include "golden/device/launch.cuh"
#include "golden/device/tensor_core.cuh"

namespace qsim::golden::cuda {
namespace {

constexpr int kWarpgroupThreads = 128;

template <BinaryTile kTile>
class HopperMultiply {
 public:
  using Number = float;
  static constexpr int kColumns = shape_of(kTile).columns();

  __device__ HopperMultiply(const BinaryConvArgs& args, std::uint32_t weights)
      : args_(args), weights_(bit_operand(weights, kColumns)) {}

  // While a group is multiplied, the next one is loaded.
  __device__ void multiply(const WindowPlace (&places)[2], std::int32_t base_bytes,
                           std::int32_t chunk, std::int32_t (&both)[kColumns / 2],
                           std::int32_t (&ones)[2]) const {
    std::uint32_t weights =
        weights_ + static_cast<std::uint32_t>(chunk * args_.groups * kGroupSteps) * kStepUnits;
    ones[0] = ones[1] = 0;
    if constexpr (kColumns > 128) {
      // Registers are too few for two groups; the other warpgroups multiply meanwhile.
      GroupWords words;
#pragma unroll 1
      for (std::int32_t group = 0; group < args_.groups; ++group) {
        load_group(args_, places, base_bytes, group, words);
        start(words, weights, group, both);
        count_words(words, ones);
        wgmma_wait<0>();
        pin(both);
      }
    } else {
      GroupWords even;
      GroupWords odd;
      load_group(args_, places, base_bytes, 0, even);
      const auto one_group = [&](const GroupWords& now, GroupWords& next, std::int32_t group) {
        start(now, weights, group, both);
        if (group + 1 < args_.groups) load_group(args_, places, base_bytes, group + 1, next);
        count_words(now, ones);
        wgmma_wait<0>();
        pin(both);
      };
#pragma unroll 1
      for (std::int32_t group = 0;;) {
        one_group(even, odd, group);
        if (++group == args_.groups) break;
        one_group(odd, even, group);
        if (++group == args_.groups) break;
      }
    }
    sum_lanes(ones);
  }

 private:
  static constexpr std::uint32_t kStepUnits = kColumns * kStepBytes / 16;

  // Starts the products of a group; the first one of a tile does not add to `both`.
  __device__ static void start(const GroupWords& words, std::uint32_t& weights, std::int32_t group,
                               std::int32_t (&both)[kColumns / 2]) {
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < kGroupSteps; ++step) {
      wgmma_bits<kColumns>(both, words[step], whole_operand(weights), group + step);
      weights += kStepUnits;
    }
    wgmma_commit();
  }

  const BinaryConvArgs& args_;
  std::uint32_t weights_;
};

template <BinaryTile kTile>
__global__ void __launch_bounds__(shape_of(kTile).warpgroups* kWarpgroupThreads, 1)
    hopper_conv(const __grid_constant__ BinaryConvArgs args) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  constexpr BinaryTileShape kShape = shape_of(kTile);
  std::uint8_t* shared = dynamic_shared();
  auto& barrier = *reinterpret_cast<MBarrier*>(shared);
  const std::uint32_t weights = shared_address(shared) + kBarrierBytes;
  const std::int32_t block = static_cast<std::int32_t>(blockIdx.x) % args.channel_blocks;
  start_next_kernel();
  if (threadIdx.x == 0) {
    barrier.init(1);
    fence_barrier_init();
    const auto bytes = static_cast<std::uint32_t>(args.block_bytes);
    barrier.arrive_expecting(bytes);
    copy_bytes(args.packed + args.weights + block * args.block_bytes, weights, bytes, barrier);
  }
  __syncthreads();
  wait_for_last_kernel();  // the weights are no kernel's result
  barrier.wait(0);
  const std::uint32_t group = __shfl_sync(0xFFFFFFFFu, threadIdx.x / kWarpgroupThreads, 0);
  HopperMultiply<kTile> multiply(args, weights);
  const std::uint32_t workers = gridDim.x / args.channel_blocks * kShape.warpgroups;
  auto* kept = reinterpret_cast<float*>(shared + kBarrierBytes + args.block_bytes) + threadIdx.x;
#pragma unroll 1
  for (std::uint32_t tile =
           blockIdx.x / args.channel_blocks + group * (gridDim.x / args.channel_blocks);
       std::uint64_t{tile} * kTileRows < args.output_rows; tile += workers) {
    TileLoop<kTile, kTile == BinaryTile::kAnyBases>::run(args, multiply, tile, kept);
  }
#else
  __trap();  // compiled for an architecture without wgmma
#endif
}

template <BinaryTile kTile>
void launch(const BinaryConvArgs& args, std::int64_t shared_bytes, int multiprocessors,
            cudaStream_t stream) {
  constexpr BinaryTileShape kShape = shape_of(kTile);
  const std::int64_t tiles = (std::int64_t{args.output_rows} + kTileRows - 1) / kTileRows;
  const std::int64_t most = std::max(1, multiprocessors / args.channel_blocks);
  const std::int64_t workers = std::min(most, tiles);
  check(cudaFuncSetAttribute(hopper_conv<kTile>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(shared_bytes)),
        "reserving shared memory");
  launch_kernel("launching a binary convolution", hopper_conv<kTile>, workers * args.channel_blocks,
                kShape.warpgroups * kWarpgroupThreads, static_cast<std::size_t>(shared_bytes),
                stream, args);
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
    case BinaryTile::kPortable:
      break;
  }
  QSIM_CHECK(false, "a tile of another family");
}

}  // namespace qsim::golden::cuda
