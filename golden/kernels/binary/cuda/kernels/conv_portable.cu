// Binary convolution with mma.sync on bits (compute capability 8.0 and later): any layer. Words and
// weights come from the caches, fragment by fragment.
#include "golden/device/launch.cuh"
#include "golden/device/tensor_core.cuh"
#include "golden/kernels/binary/cuda/kernels/bit_product.cuh"
#include "golden/kernels/binary/cuda/kernels/conv_kernels.h"
#include "golden/kernels/binary/cuda/kernels/conv_tile.cuh"

namespace qsim::golden::cuda {
namespace {

constexpr BinaryTile kTile = BinaryTile::kPortable;

class PortableMultiply {
 public:
  static constexpr int kColumns = shape_of(kTile).columns();

  __device__ PortableMultiply(const BinaryConvArgs& args, const std::uint8_t* block)
      : args_(args),
        lane_weights_(block + threadIdx.x % 32 / 4 * kStepBytes + threadIdx.x % 4 * 8) {}

  __device__ void multiply(std::uint32_t tile, std::int32_t position, std::int32_t chunk,
                           std::int32_t base, std::int32_t (&both)[kColumns / 2],
                           std::int32_t (&ones)[2]) const {
    const std::uint32_t row = tile * kTileRows + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
    const WindowPlace places[2] = {window_place(args_, args_.packed, row, position),
                                   window_place(args_, args_.packed, row + 8, position)};
#pragma unroll
    for (std::int32_t& count : both) count = 0;
    ones[0] = ones[1] = 0;
    const std::uint8_t* weights =
        lane_weights_ + std::int64_t{chunk} * args_.steps * (kColumns * kStepBytes);
    std::int32_t step = 0;
    for (; step + kBatch <= args_.steps; step += kBatch) {
      add_steps<kBatch>(places, base, step, weights, both, ones);
    }
    for (; step < args_.steps; ++step) add_steps<1>(places, base, step, weights, both, ones);
    sum_lanes(ones);
  }

 private:
  static constexpr int kBatch = 3;  // steps whose words are loaded together

  template <int kSteps>
  __device__ void add_steps(const WindowPlace (&places)[2], std::int32_t base, std::int32_t first,
                            const std::uint8_t* weights, std::int32_t (&both)[kColumns / 2],
                            std::int32_t (&ones)[2]) const {
    std::uint32_t words[kSteps][4];
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
      const auto kw = static_cast<std::int32_t>(kStepWords * (first + i) + threadIdx.x % 4);
      const std::int32_t offset = table<std::int32_t>(args_.packed, 0)[kw];
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const std::uint32_t mask = inside_mask(args_, args_.packed, places[h], kw);
        uint2 word = {0, 0};
        if ((mask >> (kw % 32) & 1) != 0) {
          word = __ldg(reinterpret_cast<const uint2*>(first_word(args_, places[h], base) + offset));
        }
        words[i][h] = word.x;
        words[i][2 + h] = word.y;
      }
    }
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
#pragma unroll
      for (int h = 0; h < 2; ++h) ones[h] += __popc(words[i][h]) + __popc(words[i][2 + h]);
      const std::uint8_t* step = weights + std::int64_t{first + i} * (kColumns * kStepBytes);
#pragma unroll
      for (int t = 0; t < kColumns / 8; ++t) {
        mma_bits(both + 4 * t, words[i],
                 __ldg(reinterpret_cast<const uint2*>(step + 8 * t * kStepBytes)));
      }
    }
  }

  const BinaryConvArgs& args_;
  const std::uint8_t* lane_weights_;
};

__global__ void __launch_bounds__(kWarpgroupThreads)
    portable_conv(const __grid_constant__ BinaryConvArgs args) {
  begin_kernel();
  const std::uint8_t* block =
      args.packed + args.common_bytes +
      static_cast<std::int32_t>(blockIdx.x) % args.channel_blocks * args.block_bytes;
  PortableMultiply multiply(args, block);
  auto* kept = reinterpret_cast<float*>(dynamic_shared()) + threadIdx.x;
  for (std::uint32_t tile = blockIdx.x / args.channel_blocks;
       std::uint64_t{tile} * kTileRows < args.output_rows;
       tile += gridDim.x / args.channel_blocks) {
    TileLoop<kTile, true>::run(args, multiply, block, args.packed, tile, kept);
  }
}

}  // namespace

void launch_portable(const BinaryConvArgs& args, std::int64_t shared_bytes, int multiprocessors,
                     cudaStream_t stream) {
  const std::int64_t tiles = (std::int64_t{args.output_rows} + kTileRows - 1) / kTileRows;
  const std::int64_t workers = std::min<std::int64_t>(tiles, std::int64_t{multiprocessors} * 64);
  launch_kernel("launching a binary convolution", portable_conv, workers * args.channel_blocks,
                kWarpgroupThreads, static_cast<std::size_t>(shared_bytes), stream, args);
}

}  // namespace qsim::golden::cuda
