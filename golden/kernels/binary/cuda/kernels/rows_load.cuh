// The warpgroup that brings rows of the picture to shared memory, each word once, and counts its
// ones.
#pragma once

#include "golden/device/tensor_core.cuh"
#include "golden/kernels/binary/cuda/kernels/rows_block.cuh"

namespace qsim::golden::cuda {

class RowLoader {
 public:
  __device__ RowLoader(const BinaryConvArgs& args, const RasterRange& range, std::uint8_t* shared)
      : args_(args), raster_(args.raster), range_(range), shared_(shared) {}

  // Starts the copies of a piece, this thread's places of a segment from place `first` on, and
  // closes their group, which is empty where the piece is not there.
  __device__ void start_piece(std::uint32_t first, std::int32_t buffer, std::int32_t piece,
                              bool is_there) {
    if (!is_there) return commit_copies();
    const std::int32_t begin = piece << raster_.piece_shift;
    const std::int32_t end = min((piece + 1) << raster_.piece_shift, raster_.buffer_pixels);
    for (std::int32_t at = begin + thread(); at < end; at += kWarpgroupThreads) {
      start_pixel(first + at, buffer, at);
    }
    commit_copies();
  }

  // Counts the ones of what this thread copied, or makes the opposites of it.
  __device__ void count_piece(std::int32_t buffer, std::int32_t piece) {
    const std::int32_t begin = piece << raster_.piece_shift;
    const std::int32_t end = min((piece + 1) << raster_.piece_shift, raster_.buffer_pixels);
    for (std::int32_t at = begin + thread(); at < end; at += kWarpgroupThreads) {
      auto* unit = reinterpret_cast<uint4*>(place(buffer, 0, 0, at));
      std::int32_t* count = counts(buffer, 0) + at;
      if (raster_.signs != 0) {
#pragma unroll 3
        for (std::int32_t base = 0; base < args_.input_bases; ++base) {
          make_opposite(*unit);
          unit += raster_.buffer_pixels;
        }
      } else if (raster_.units == 2) {
#pragma unroll 3
        for (std::int32_t base = 0; base < args_.input_bases; ++base) {
          *count = count_ones(unit[0]) + count_ones(unit[raster_.buffer_pixels]);
          unit += 2 * raster_.buffer_pixels;
          count += raster_.buffer_pixels;
        }
      } else {
        for (std::int32_t base = 0; base < args_.input_bases; ++base) {
          std::int32_t sum = 0;
#pragma unroll 4
          for (std::int32_t i = 0; i < raster_.units; ++i, unit += raster_.buffer_pixels) {
            sum += count_ones(*unit);
          }
          *count = sum;
          count += raster_.buffer_pixels;
        }
      }
    }
  }

  // The ones of the windows of places `begin` to `end` of a segment, and what these places are.
  __device__ void finish_places(std::uint32_t first, std::int32_t buffer, std::int32_t begin,
                                std::int32_t end) {
    const bool is_3x3 = raster_.kernel_h == 3 && raster_.kernel_w == 3;
    for (std::int32_t at = begin + thread(); at < end; at += kWarpgroupThreads) {
      infos(buffer)[at] = info(first + at);
      if (raster_.signs != 0) continue;
      const std::int32_t* from = counts(buffer, 0) + at;
      float* to = ones(buffer, 0) + at;
      for (std::int32_t base = 0; base < args_.input_bases; ++base) {
        const std::int32_t sum = is_3x3 ? window_3x3(from) : window(from);
        *to = kBias + static_cast<float>(2 * sum);
        from += raster_.buffer_pixels;
        to += raster_.buffer_pixels;
      }
    }
  }

 private:
  // Counts the ones of a unit; with one word a pixel, the second word is another pixel's.
  __device__ std::int32_t count_ones(const uint4& unit) const {
    const std::int32_t first = __popc(unit.x) + __popc(unit.y);
    return raster_.pair != 0 ? first : first + __popc(unit.z) + __popc(unit.w);
  }
  // The second word has all channels, or nothing outside the picture.
  __device__ static void make_opposite(uint4& unit) {
    unit.z &= ~unit.x;
    unit.w &= ~unit.y;
  }
  __device__ std::int32_t window_3x3(const std::int32_t* from) const {
    std::int32_t sum = 0;
#pragma unroll
    for (int tap = 0; tap < 9; ++tap) {
      sum += from[tap / 3 * raster_.tap_row + tap % 3 * raster_.tap_column];
    }
    return sum;
  }
  __device__ std::int32_t window(const std::int32_t* from) const {
    std::int32_t sum = 0;
    for (std::int32_t ky = 0; ky < raster_.kernel_h; ++ky, from += raster_.tap_row) {
      for (std::int32_t kx = 0; kx < raster_.kernel_w; ++kx) sum += from[kx * raster_.tap_column];
    }
    return sum;
  }
  __device__ static std::int32_t thread() {
    return static_cast<std::int32_t>(threadIdx.x % kWarpgroupThreads);
  }
  __device__ std::uint8_t* place(std::int32_t buffer, std::int32_t base, std::int32_t unit,
                                 std::int32_t at) const {
    return shared_ + raster_.at_planes +
           (((buffer * args_.input_bases + base) * raster_.units + unit) * raster_.buffer_pixels +
            at) *
               kUnitBytes;
  }
  __device__ std::int32_t* counts(std::int32_t buffer, std::int32_t base) const {
    return reinterpret_cast<std::int32_t*>(shared_ + raster_.at_counts) +
           (buffer * args_.input_bases + base) * raster_.buffer_pixels;
  }
  __device__ float* ones(std::int32_t buffer, std::int32_t base) const {
    return reinterpret_cast<float*>(shared_ + raster_.at_ones) +
           (buffer * args_.input_bases + base) * raster_.buffer_pixels;
  }
  __device__ PlaceInfo* infos(std::int32_t buffer) const {
    return reinterpret_cast<PlaceInfo*>(shared_ + raster_.at_infos) +
           buffer * raster_.buffer_pixels;
  }

  __device__ PlaceInfo info(std::uint32_t place) const {
    if (place >= range_.end) return {0, kNoPixel};
    const RasterPlace at(raster_, place);
    if (at.x >= args_.output_width || at.y >= args_.output_height) return {0, kNoPixel};
    const std::uint8_t* common = shared_ + raster_.at_common;
    const std::int32_t row = table<std::int32_t>(common, args_.rows)[at.y];
    const std::int32_t column = table<std::int32_t>(common, args_.columns)[at.x];
    const float products =
        static_cast<float>(row * column * __popcll(raster_.signs)) * (1 / 8388608.0F);
    return {raster_.signs != 0 ? __float_as_int(products) : row + column,
            (at.picture * args_.output_height + at.y) * args_.output_width + at.x};
  }

  __device__ void start_pixel(std::uint32_t raster_place, std::int32_t buffer, std::int32_t at) {
    const RasterPlace place_of(raster_, raster_place);
    const std::uint32_t picture = place_of.picture;
    const std::int32_t x = static_cast<std::int32_t>(place_of.x) - args_.pad_left;
    const std::int32_t y = static_cast<std::int32_t>(place_of.y) - args_.pad_top;
    const bool row_inside =
        y >= 0 && y < args_.height && picture < static_cast<std::uint32_t>(raster_.batch);
    const bool inside = row_inside && x >= 0 && x < args_.width;
    const std::int32_t next = x + raster_.pair;
    const bool next_inside = row_inside && next >= 0 && next < args_.width;
    const std::int64_t pixel = (std::int64_t{picture} * args_.height + y) * args_.width + x;
    const std::uint8_t* from = args_.input + pixel * args_.pixel_bytes;
    std::uint32_t to = shared_address(place(buffer, 0, 0, at));
    const std::uint32_t step = raster_.buffer_pixels * kUnitBytes;
    if (!inside) from = args_.input;  // is not read
    if (raster_.signs != 0) {
      const std::uint64_t channels = inside ? raster_.signs : 0;
      for (std::int32_t base = 0; base < args_.input_bases; ++base, to += step) {
        copy_if<8>(inside, from + base * args_.base_bytes, to);
        asm volatile("st.shared.u64 [%0], %1;" ::"r"(to + 8), "l"(channels) : "memory");
      }
    } else if (raster_.pair != 0) {
      const std::uint8_t* other =
          next_inside ? args_.input + (pixel + raster_.pair) * args_.pixel_bytes : args_.input;
      for (std::int32_t base = 0; base < args_.input_bases; ++base, to += step) {
        copy_if<8>(inside, from + base * args_.base_bytes, to);
        copy_if<8>(next_inside, other + base * args_.base_bytes, to + 8);
      }
    } else if (args_.has_pairs != 0) {
      // All units of all bases, one after the other on both sides.
      const std::int32_t units = args_.input_bases * raster_.units;
#pragma unroll 2
      for (std::int32_t unit = 0; unit < units; ++unit, to += step) {
        copy_if<16>(inside, from + unit * kUnitBytes, to);
      }
    } else {
      for (std::int32_t base = 0; base < args_.input_bases; ++base) {
        for (std::int32_t unit = 0; unit < raster_.units; ++unit, to += step) {
          const std::uint8_t* word = from + base * args_.base_bytes + unit * kUnitBytes;
          const bool second = inside && (unit + 1) * kUnitBytes <= args_.base_bytes;
          copy_if<8>(inside, word, to);
          copy_if<8>(second, second ? word + 8 : args_.input, to + 8);
        }
      }
    }
  }

  const BinaryConvArgs& args_;
  const RasterArgs& raster_;
  const RasterRange& range_;
  std::uint8_t* shared_;
};

// All segments of a worker, piece by piece: while one is counted, the next two are under way.
__device__ inline void load_rows(const BinaryConvArgs& args, RowBarriers barriers,
                                 const RasterRange& range, std::uint8_t* shared) {
  constexpr int kAhead = 2;
  const RasterArgs& raster = args.raster;
  RowLoader loader(args, range, shared);
  const std::int32_t tiles = range.tiles();
  std::int32_t segment = 0;
  for (std::int32_t tile = 0; tile < tiles; tile += raster.segment_tiles, ++segment) {
    const std::int32_t buffer = segment & (raster.buffers - 1);
    const std::uint32_t turn = segment >> (raster.buffers - 1) & 1;
    barriers.empty(buffer).wait(turn ^ 1);
    const std::int32_t here = min(raster.segment_tiles, tiles - tile);
    const std::int32_t pixels = here * kTileRows + raster.halo;
    const std::int32_t pieces = (pixels - 1 >> raster.piece_shift) + 1;
    const std::uint32_t first = range.first + tile * kTileRows;
    for (std::int32_t piece = 0; piece < kAhead; ++piece) {
      loader.start_piece(first, buffer, piece, piece < pieces);
    }
    if (segment == 0) barriers.common().wait(0);
    std::int32_t finished = 0;  // places
    for (std::int32_t piece = 0; piece < pieces; ++piece) {
      loader.start_piece(first, buffer, piece + kAhead, piece + kAhead < pieces);
      wait_copies<kAhead>();
      loader.count_piece(buffer, piece);
      fence_shared_for_wgmma();
      // All counts of the pieces so far are there.
      asm volatile("bar.sync 8, %0;" ::"n"(kWarpgroupThreads) : "memory");
      const std::int32_t end = min((piece + 1) << raster.piece_shift, pixels) - raster.halo;
      if (end > finished) {
        loader.finish_places(first, buffer, finished, end);
        finished = end;
      }
      barriers.full(buffer, piece).arrive();
    }
  }
}

}  // namespace qsim::golden::cuda
