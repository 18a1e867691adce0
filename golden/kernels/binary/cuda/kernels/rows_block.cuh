// What the warpgroups of a block of threads share: barriers, the range of the raster that the block
// takes, and its tables.
#pragma once

#include "golden/device/hopper.cuh"
#include "golden/kernels/binary/cuda/kernels/window_words.cuh"

namespace qsim::golden::cuda {

// The barriers at the start of shared memory: the common tables, the weights of each chunk of bases
// (the block's tables come with the first); then each buffer of segments has one that turns when it
// is empty and one for each of its pieces.
class RowBarriers {
 public:
  __device__ explicit RowBarriers(std::uint8_t* shared)
      : barriers_(reinterpret_cast<MBarrier*>(shared)) {}

  __device__ void init(int warpgroups) {
    for (int i = 0; i <= kMostListed; ++i) barriers_[i].init(1);
    for (int buffer = 0; buffer < 2; ++buffer) {
      empty(buffer).init(warpgroups * kWarpgroupThreads);
      for (int piece = 0; piece < kMostPieces; ++piece) {
        full(buffer, piece).init(kWarpgroupThreads);
      }
    }
    fence_barrier_init();
  }
  __device__ MBarrier& common() { return barriers_[0]; }
  __device__ MBarrier& weights(std::int32_t chunk) { return barriers_[1 + chunk]; }
  __device__ MBarrier& empty(std::int32_t buffer) { return barriers_[1 + kMostListed + buffer]; }
  __device__ MBarrier& full(std::int32_t buffer, std::int32_t piece) {
    return barriers_[3 + kMostListed + buffer * kMostPieces + piece];
  }

 private:
  MBarrier* barriers_;
};
static_assert((3 + kMostListed + 2 * kMostPieces) * 8 <= kRasterBarriers);

// Which row and column a place of the raster is.
struct RasterPlace {
  std::uint32_t picture;
  std::uint32_t y;  // with the pads
  std::uint32_t x;

  __device__ RasterPlace(const RasterArgs& raster, std::uint32_t place) {
    const std::int32_t line = raster.pitch.divide(static_cast<std::int32_t>(place));
    picture = raster.picture_rows.divide(line);
    y = line - picture * raster.picture_rows.divisor();
    x = place - line * raster.pitch.divisor();
  }
};

// The places that a worker takes, from the first to after the last that is an output pixel.
struct RasterRange {
  std::uint32_t first;
  std::uint32_t end;

  __device__ explicit RasterRange(const BinaryConvArgs& args) {
    const RasterArgs& raster = args.raster;
    first = blockIdx.x / args.channel_blocks * raster.range;
    end = min(first + raster.range, raster.end);
    if (first >= end) return;
    const RasterPlace from(raster, first);
    if (from.y >= args.output_height) {
      first = (from.picture + 1) * raster.picture_rows.divisor() * raster.pitch.divisor();
    } else if (from.x >= args.output_width) {
      first += raster.pitch.divisor() - from.x;
      if (from.y + 1 >= args.output_height) {
        first = (from.picture + 1) * raster.picture_rows.divisor() * raster.pitch.divisor();
      }
    }
    const RasterPlace to(raster, end - 1);
    if (to.y >= args.output_height) {
      end = (to.picture * raster.picture_rows.divisor() + args.output_height - 1) *
                raster.pitch.divisor() +
            args.output_width;
    } else if (to.x >= args.output_width) {
      end -= to.x + 1 - args.output_width;
    }
  }
  __device__ std::int32_t tiles() const {
    return first >= end ? 0 : static_cast<std::int32_t>((end - first + kTileRows - 1) / kTileRows);
  }
};

// One thread: the tables and weights, base after base.
__device__ inline void copy_tables(const BinaryConvArgs& args, RowBarriers barriers,
                                   std::uint8_t* shared, std::int32_t chunks) {
  const std::int32_t block = static_cast<std::int32_t>(blockIdx.x) % args.channel_blocks;
  const std::uint8_t* from = args.packed + args.common_bytes + block * args.block_bytes;
  const std::uint32_t to = shared_address(shared + kRasterBarriers);
  const auto chunk_bytes = static_cast<std::uint32_t>(args.inside) / chunks;
  const auto table_bytes = static_cast<std::uint32_t>(args.block_bytes - args.inside);
  barriers.weights(0).arrive_expecting(chunk_bytes + table_bytes);
  copy_bytes(from, to, chunk_bytes, barriers.weights(0));
  barriers.common().arrive_expecting(args.common_bytes);
  copy_bytes(args.packed, shared_address(shared + args.raster.at_common), args.common_bytes,
             barriers.common());
  copy_bytes(from + args.inside, to + static_cast<std::uint32_t>(args.inside), table_bytes,
             barriers.weights(0));
  for (std::int32_t chunk = 1; chunk < chunks; ++chunk) {
    barriers.weights(chunk).arrive_expecting(chunk_bytes);
    copy_bytes(from + chunk * chunk_bytes, to + chunk * chunk_bytes, chunk_bytes,
               barriers.weights(chunk));
  }
}

}  // namespace qsim::golden::cuda
