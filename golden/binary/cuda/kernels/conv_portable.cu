// Binary convolution with mma.sync on bits (compute capability 8.0 and later): any layer. Weights
// come from the caches, fragment by fragment.
#include "golden/binary/cuda/kernels/conv_kernels.h"
#include "golden/binary/cuda/kernels/conv_tile.cuh"
#include "golden/device/launch.cuh"
#include "golden/device/tensor_core.cuh"

namespace qsim::golden::cuda {
namespace {

constexpr BinaryTile kTile = BinaryTile::kPortable;
constexpr int kThreads = 128;

// sums += popcount(a[16][256] & b[8][256]). a as in wgmma_bits(); b0, b1: column g, bits 32 q.. and
// 128 + 32 q..; sums[2 * h + e]: row g + 8 * h, column 2 * q + e.
__device__ inline void mma_bits(std::int32_t* sums, const std::uint32_t (&a)[4], uint2 b) {
  asm volatile(
      "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0, %1, %2, %3}, "
      "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b.x), "r"(b.y));
}

class PortableMultiply {
 public:
  using Number = std::int32_t;
  static constexpr int kColumns = shape_of(kTile).columns();

  __device__ PortableMultiply(const BinaryConvArgs& args, std::int32_t block) : args_(args) {
    const std::uint32_t lane = threadIdx.x % 32;
    weights_ = args.packed + args.weights + block * args.block_bytes + lane / 4 * kStepBytes +
               lane % 4 * 8;
  }

  __device__ void multiply(const WindowPlace (&places)[2], std::int32_t base_bytes,
                           std::int32_t chunk, std::int32_t (&both)[kColumns / 2],
                           std::int32_t (&ones)[2]) const {
#pragma unroll
    for (std::int32_t& count : both) count = 0;
    ones[0] = ones[1] = 0;
    const std::int64_t group_bytes = kGroupSteps * kColumns * kStepBytes;
    const std::uint8_t* weights = weights_ + chunk * args_.groups * group_bytes;
#pragma unroll 1
    for (std::int32_t group = 0; group < args_.groups; ++group, weights += group_bytes) {
      GroupWords words;
      load_group(args_, places, base_bytes, group, words);
      count_words(words, ones);
#pragma unroll
      for (int step = 0; step < kGroupSteps; ++step) {
#pragma unroll
        for (int t = 0; t < kColumns / 8; ++t) {
          const auto* word =
              reinterpret_cast<const uint2*>(weights + (step * kColumns + 8 * t) * kStepBytes);
          mma_bits(both + 4 * t, words[step], __ldg(word));
        }
      }
    }
    sum_lanes(ones);
  }

 private:
  const BinaryConvArgs& args_;
  const std::uint8_t* weights_;
};

__global__ void __launch_bounds__(kThreads)
    portable_conv(const __grid_constant__ BinaryConvArgs args) {
  begin_kernel();
  const std::int32_t block = static_cast<std::int32_t>(blockIdx.x) % args.channel_blocks;
  PortableMultiply multiply(args, block);
  const std::uint32_t workers = gridDim.x / args.channel_blocks;
  auto* kept = reinterpret_cast<float*>(dynamic_shared()) + threadIdx.x;
  for (std::uint32_t tile = blockIdx.x / args.channel_blocks;
       std::uint64_t{tile} * kTileRows < args.output_rows; tile += workers) {
    TileLoop<kTile, true>::run(args, multiply, tile, kept);
  }
}

}  // namespace

void launch_portable(const BinaryConvArgs& args, std::int64_t shared_bytes, int multiprocessors,
                     cudaStream_t stream) {
  const std::int64_t tiles = (std::int64_t{args.output_rows} + kTileRows - 1) / kTileRows;
  const std::int64_t workers = std::min<std::int64_t>(tiles, std::int64_t{multiprocessors} * 64);
  launch_kernel("launching a binary convolution", portable_conv, workers * args.channel_blocks,
                kThreads, static_cast<std::size_t>(shared_bytes), stream, args);
}

}  // namespace qsim::golden::cuda
