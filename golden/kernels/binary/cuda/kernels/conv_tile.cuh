// One tile of a binary convolution, 64 output pixels by the channels of a block: the order of
// bases, pool positions and sums, which is the same for every way to multiply.
#pragma once

#include "golden/kernels/binary/cuda/kernels/finish_binary.cuh"

namespace qsim::golden::cuda {

// threadIdx.x, read where it is written: what depends on it takes no register in between.
__device__ inline std::int32_t thread_again() {
  std::int32_t thread;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
  return thread;
}

// A thread's share of a tile. Multiply has multiply(tile, position, chunk, base, both, ones): the
// popcounts of a & b of all columns of a chunk, and of a, of one base of activations. kMany: more
// chunks of bases than one.
template <BinaryTile kTile, bool kMany>
struct TileLoop {
  static constexpr BinaryTileShape kShape = shape_of(kTile);
  static constexpr int kChannels = kShape.channels;
  static constexpr int kValues = kChannels / 2;         // of y
  static constexpr int kCounts = kShape.columns() / 2;  // of a chunk
  static constexpr int kKeptStride = kShape.warpgroups * kWarpgroupThreads;

  // `block` and `common`: the tables. `kept` has kValues floats of this thread, kKeptStride apart,
  // where there is a pool.
  template <class Multiply>
  __device__ static void run(const BinaryConvArgs& args, Multiply& multiply,
                             const std::uint8_t* block, const std::uint8_t* common,
                             std::uint32_t tile, float* kept) {
    const std::int32_t positions = args.pool_size * args.pool_size;
    float y[kValues];
#pragma unroll 1
    for (std::int32_t position = 0; position < positions; ++position) {
      const std::int32_t windows[2] = {
          window_place(args, common, first_row(tile), position).windows,
          window_place(args, common, first_row(tile) + 8, position).windows};
      sum_bases(args, multiply, lane_tables(block), windows, tile, position, y);
      if (args.has_pool != 0) {
#pragma unroll
        for (int i = 0; i < kValues; ++i) {
          const float before = position == 0 ? -INFINITY : kept[i * kKeptStride];
          y[i] = y[i] > before ? y[i] : before;
          if (position + 1 < positions) kept[i * kKeptStride] = y[i];
        }
      }
    }
    const std::uint32_t rows[2] = {first_row(tile), first_row(tile) + 8};
    if (args.output_bases == 0) {
      write_floats<kChannels>(args, rows, first_channel(args), y);
      return;
    }
    if (args.has_pool == 0) {
#pragma unroll
      for (float& value : y) value = fmaxf(value, -INFINITY);  // of a NaN
    }
    write_bits<kChannels>(args, lane_tables(block), rows, first_channel(args), y);
  }

 private:
  __device__ static std::uint32_t first_row(std::uint32_t tile) {
    const std::int32_t thread = thread_again() % kWarpgroupThreads;
    return tile * kTileRows + thread / 32 * 16 + thread % 32 / 4;
  }
  __device__ static std::int32_t first_channel(const BinaryConvArgs& args) {
    const std::int32_t block = static_cast<std::int32_t>(blockIdx.x) % args.channel_blocks;
    return block * kChannels + kChannels / 4 * (thread_again() % 4);
  }
  __device__ static const std::uint8_t* lane_tables(const std::uint8_t* block) {
    return block + thread_again() % 4 * 16;
  }

  template <class Multiply>
  __device__ static void sum_bases(const BinaryConvArgs& args, Multiply& multiply,
                                   const std::uint8_t* tables, const std::int32_t (&windows)[2],
                                   std::uint32_t tile, std::int32_t position, float (&y)[kValues]) {
    const std::int32_t chunks = kMany ? args.weight_bases : 1;
    const std::int32_t bases = kTile == BinaryTile::kOneByOne ? 1 : args.input_bases;
#pragma unroll 1
    for (std::int32_t chunk = 0; chunk < chunks; ++chunk) {
      float s[kCounts];
#pragma unroll
      for (float& value : s) value = 0;
#pragma unroll 1
      for (std::int32_t base = 0; base < bases; ++base) {
        std::int32_t both[kCounts];
        std::int32_t ones[2];
        multiply.multiply(tile, position, chunk, base, both, ones);
        add_dots<kChannels, kShape.chunk, kTile != BinaryTile::kPortable>(
            args, tables, windows, chunk * kShape.chunk, both, ones, args.beta[base], s);
      }
      if (chunk == 0) {
        add_bases<kChannels, kShape.chunk, true>(args, tables, 0, s, y);
      } else {
        add_bases<kChannels, kShape.chunk, false>(args, tables, chunk * kShape.chunk, s, y);
      }
    }
  }
};

}  // namespace qsim::golden::cuda
