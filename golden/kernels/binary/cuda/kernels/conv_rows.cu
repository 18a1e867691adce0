// Binary convolution with wgmma on bits (compute capability 9.0) where strides are 1: rows of the
// picture come to shared memory once, and each tap of a window is another start address in them. A
// block of threads keeps the weights of its channels, all bases, in shared memory. One warpgroup
// brings rows; the others take tiles of 64 places of the raster in turn.
#include "core/base/error.h"
#include "golden/device/launch.cuh"
#include "golden/device/shared_memory.cuh"
#include "golden/device/wgmma_bits.cuh"
#include "golden/kernels/binary/cuda/kernels/conv_kernels.h"
#include "golden/kernels/binary/cuda/kernels/finish_binary.cuh"
#include "golden/kernels/binary/cuda/kernels/rows_load.cuh"

namespace qsim::golden::cuda {
namespace {

// What a warpgroup that multiplies has.
template <BinaryTile kTile>
class RowsWarpgroup {
 public:
  static constexpr BinaryTileShape kShape = shape_of(kTile);
  static constexpr int kChannels = kShape.channels;
  static constexpr int kColumns = kShape.columns();
  static constexpr int kValues = kChannels / 2;  // of y
  static constexpr int kCounts = kColumns / 2;   // of a chunk
  static constexpr bool kMany = kTile == BinaryTile::kRowsAny || kTile == BinaryTile::kRowsWide ||
                                kTile == BinaryTile::kSignsAny;

  __device__ RowsWarpgroup(const BinaryConvArgs& args, RowBarriers barriers,
                           const RasterRange& range, std::uint8_t* shared, int group)
      : args_(args), barriers_(barriers), range_(range), shared_(shared), group_(group) {}

  // The tiles of each segment in turn: while one warpgroup sums, another multiplies.
  __device__ void run() {
    const RasterArgs& raster = args_.raster;
    const std::int32_t tiles = range_.tiles();
    const std::int32_t chunks = kMany ? args_.weight_bases : 1;
    const std::int32_t bases = kTile == BinaryTile::kRowsOneByOne ? 1 : args_.input_bases;
    std::int32_t segment = 0;
#pragma unroll 1
    for (std::int32_t first = 0; first < tiles; first += raster.segment_tiles, ++segment) {
      buffer_ = segment & (raster.buffers - 1);
      parity_ = segment >> (raster.buffers - 1) & 1;
      arrived_ = 0;
      const std::int32_t here = min(raster.segment_tiles, tiles - first);
#pragma unroll 1
      for (std::int32_t tile = group_; tile < here; tile += kShape.warpgroups) {
        take_tile(tile, chunks, bases);
      }
      if (raster.buffers > 1) barriers_.empty(buffer_).arrive();
    }
  }

 private:
  __device__ static std::int32_t thread() {
    return static_cast<std::int32_t>(threadIdx.x % kWarpgroupThreads);
  }
  __device__ static std::int32_t thread_row() { return thread() / 32 * 16 + thread() % 32 / 4; }
  __device__ const std::uint8_t* lane_tables() const {
    return shared_ + kRasterBarriers + thread() % 4 * 16;
  }
  __device__ const PlaceInfo* infos(std::int32_t tile) const {
    return reinterpret_cast<const PlaceInfo*>(shared_ + args_.raster.at_infos) +
           buffer_ * args_.raster.buffer_pixels + tile * kTileRows + thread_row();
  }

  __device__ void take_tile(std::int32_t tile, std::int32_t chunks, std::int32_t bases) {
    float y[kValues];
#pragma unroll 1
    for (std::int32_t chunk = 0; chunk < chunks; ++chunk) {
      wait_for(tile, chunk);
      float s[kCounts];
#pragma unroll
      for (float& value : s) value = 0;
#pragma unroll 1
      for (std::int32_t base = 0; base < bases; ++base) {
        std::int32_t both[kCounts];
        multiply(tile, chunk, base, both);
        take(tile, chunk, base, both, s);
      }
      if (chunk == 0) {
        add_bases<kChannels, kShape.chunk, true>(args_, lane_tables(), 0, s, y);
      } else {
        add_bases<kChannels, kShape.chunk, false>(args_, lane_tables(), chunk * kShape.chunk, s, y);
      }
    }
    finish(tile, y);
  }

  // Waits until a tile's places and a chunk's weights have arrived.
  __device__ void wait_for(std::int32_t tile, std::int32_t chunk) {
    const RasterArgs& raster = args_.raster;
    const std::int32_t needed =
        ((tile * kTileRows + kTileRows - 1 + raster.halo) >> raster.piece_shift) + 1;
    for (; arrived_ < needed; ++arrived_) barriers_.full(buffer_, arrived_).wait(parity_);
    for (; weights_ <= chunk; ++weights_) barriers_.weights(weights_).wait(0);
  }

  // Starts a product.
  __device__ void multiply(std::int32_t tile, std::int32_t chunk, std::int32_t base,
                           std::int32_t (&both)[kCounts]) const {
    const RasterArgs& raster = args_.raster;
    const std::uint32_t input =
        (shared_address(shared_) + raster.at_planes) / 16 +
        (buffer_ * args_.input_bases + base) * raster.units * raster.buffer_pixels +
        tile * kTileRows;
    const std::uint32_t weights = bit_operand(shared_address(shared_) + kRasterBarriers, kColumns) +
                                  chunk * args_.steps * (kColumns * kStepBytes / 16);
    wgmma_fence();
    switch (args_.steps) {
      case 5:
        multiply_steps<5>(input, weights, 0, both);
        break;
      case 9:
        multiply_steps<9>(input, weights, 0, both);
        break;
      case 18:
        multiply_steps<18>(input, weights, 0, both);
        break;
      default:
#pragma unroll 1
        for (std::int32_t step = 0; step < args_.steps; ++step) {
          multiply_steps<1>(input, weights, step, both);
        }
    }
    wgmma_commit();
  }

  template <int kSteps>
  __device__ void multiply_steps(std::uint32_t input, std::uint32_t weights, std::int32_t first,
                                 std::int32_t (&both)[kCounts]) const {
    constexpr std::uint32_t kStepUnits = kColumns * kStepBytes / 16;
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
      wgmma_bits<kColumns>(both, whole_operand(input + args_.raster.step_at[first + i]),
                           whole_operand(weights + (first + i) * kStepUnits), first + i);
    }
  }

  // Waits for a product and adds its counts to the sums.
  __device__ void take(std::int32_t tile, std::int32_t chunk, std::int32_t base,
                       std::int32_t (&both)[kCounts], float (&s)[kCounts]) const {
    const PlaceInfo* places = infos(tile);
    const std::int32_t windows[2] = {places[0].windows, places[8].windows};
    float ones[2];
    if constexpr (!has_signs(kTile)) {
      const float* base_ones = reinterpret_cast<const float*>(shared_ + args_.raster.at_ones) +
                               (buffer_ * args_.input_bases + base) * args_.raster.buffer_pixels +
                               tile * kTileRows + thread_row();
      ones[0] = base_ones[0];
      ones[1] = base_ones[8];
    }
    wgmma_wait<0>();
    pin(both);
    if constexpr (has_signs(kTile)) {
      const float products[2] = {__int_as_float(windows[0]), __int_as_float(windows[1])};
      add_signs(both, products, args_.beta[base], s);
    } else {
      add_dots<kChannels, kShape.chunk, true>(args_, lane_tables(), windows, chunk * kShape.chunk,
                                              both, ones, args_.beta[base], s);
    }
  }

  __device__ void finish(std::int32_t tile, float (&y)[kValues]) {
    const PlaceInfo* places = infos(tile);
    const std::uint32_t pixels[2] = {places[0].pixel, places[8].pixel};
    const std::int32_t block = static_cast<std::int32_t>(blockIdx.x) % args_.channel_blocks;
    const std::int32_t first_channel = block * kChannels + kChannels / 4 * (thread() % 4);
    if (args_.output_bases == 0) {
      write_floats<kChannels>(args_, pixels, first_channel, y);
      return;
    }
#pragma unroll
    for (float& value : y) value = fmaxf(value, -INFINITY);  // of a NaN
    write_bits<kChannels>(args_, lane_tables(), pixels, first_channel, y);
  }

  const BinaryConvArgs& args_;
  RowBarriers barriers_;
  const RasterRange& range_;
  std::uint8_t* shared_;
  int group_;
  std::int32_t buffer_ = 0;
  std::uint32_t parity_ = 0;
  std::int32_t arrived_ = 0;  // pieces of the segment
  std::int32_t weights_ = 0;  // chunks of bases
};

template <BinaryTile kTile>
__global__ void __launch_bounds__((shape_of(kTile).warpgroups + 1) * kWarpgroupThreads, 1)
    rows_conv(const __grid_constant__ BinaryConvArgs args) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  constexpr int kWarpgroups = shape_of(kTile).warpgroups;
  constexpr int kRegistersToLoad = kWarpgroups == 2 ? 40 : 56;
  constexpr int kRegistersToMultiply = kWarpgroups == 2 ? 232 : 152;
  std::uint8_t* shared = dynamic_shared();
  RowBarriers barriers(shared);
  start_next_kernel();
  if (args.constant == 0) wait_for_last_kernel();  // which may write the tables
  const std::int32_t chunks = RowsWarpgroup<kTile>::kMany ? args.weight_bases : 1;
  if (threadIdx.x == 0) {
    barriers.init(kWarpgroups);
    copy_tables(args, barriers, shared, chunks);
  }
  __syncthreads();
  const RasterRange range(args);
  if (range.tiles() == 0) {  // places between pictures alone; shared memory is written until then
    barriers.common().wait(0);
    for (std::int32_t chunk = 0; chunk < chunks; ++chunk) barriers.weights(chunk).wait(0);
    return;
  }
  const int group = __shfl_sync(0xFFFFFFFFu, static_cast<int>(threadIdx.x) / kWarpgroupThreads, 0);
  if (group == kWarpgroups) {
    give_registers<kRegistersToLoad>();
    if (args.constant != 0) wait_for_last_kernel();
    load_rows(args, barriers, range, shared);
  } else {
    take_registers<kRegistersToMultiply>();
    if (args.constant != 0) wait_for_last_kernel();
    RowsWarpgroup<kTile>(args, barriers, range, shared, group).run();
  }
#else
  __trap();  // compiled for an architecture without wgmma
#endif
}

template <BinaryTile kTile>
void launch(const BinaryConvArgs& args, std::int64_t shared_bytes, cudaStream_t stream) {
  allow_all_shared_memory(rows_conv<kTile>);
  launch_kernel("launching a binary convolution", rows_conv<kTile>,
                std::int64_t{args.raster.workers} * args.channel_blocks,
                (shape_of(kTile).warpgroups + 1) * kWarpgroupThreads,
                static_cast<std::size_t>(shared_bytes), stream, args);
}

}  // namespace

void launch_rows(BinaryTile tile, const BinaryConvArgs& args, std::int64_t shared_bytes,
                 cudaStream_t stream) {
  switch (tile) {
    case BinaryTile::kRowsAny:
      return launch<BinaryTile::kRowsAny>(args, shared_bytes, stream);
    case BinaryTile::kRowsWide:
      return launch<BinaryTile::kRowsWide>(args, shared_bytes, stream);
    case BinaryTile::kRowsOneByOne:
      return launch<BinaryTile::kRowsOneByOne>(args, shared_bytes, stream);
    case BinaryTile::kRowsTwo:
      return launch<BinaryTile::kRowsTwo>(args, shared_bytes, stream);
    case BinaryTile::kRowsThree:
      return launch<BinaryTile::kRowsThree>(args, shared_bytes, stream);
    case BinaryTile::kSignsAny:
      return launch<BinaryTile::kSignsAny>(args, shared_bytes, stream);
    case BinaryTile::kSignsTwo:
      return launch<BinaryTile::kSignsTwo>(args, shared_bytes, stream);
    case BinaryTile::kSignsThree:
      return launch<BinaryTile::kSignsThree>(args, shared_bytes, stream);
    default:
      break;
  }
  QSIM_CHECK(false, "a tile of another family");
}

}  // namespace qsim::golden::cuda
