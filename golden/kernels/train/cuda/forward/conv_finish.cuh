// What the finishes of convolutions share: a piece of sums in shared memory, and bits of `passes`.
//
// A finish is what becomes of 64 rows (pixels) times 64 columns (output channels) of sums: 128
// threads put theirs to shared memory with put(), meet, and call the finish's run().
#pragma once

#include <cstdint>

#include "golden/kernels/train/cuda/forward/conv_direct.h"
#include "golden/kernels/train/cuda/forward/conv_sizes.h"
#include "golden/kernels/train/cuda/forward/reals.cuh"

namespace qsim::golden::train::cuda {

inline constexpr int kPieceRows = 64;
inline constexpr int kPieceColumns = 64;
inline constexpr int kFinishThreads = 128;

// The sums of a piece, columns or rows innermost. The pitches keep both the accumulators' layout (8
// rows and 4 pairs of columns a warp) and reads of four values off each other's banks.
template <bool kRowsInnermost>
struct PieceSums {
  static constexpr int kPitch = kRowsInnermost ? 68 : 72;
  alignas(16) std::int32_t values[64 * kPitch];

  // The sums of columns `column` and `column + 1`.
  __device__ void put(int row, int column, std::int32_t first, std::int32_t second) {
    if constexpr (kRowsInnermost) {
      values[column * kPitch + row] = first;
      values[(column + 1) * kPitch + row] = second;
    } else {
      *reinterpret_cast<int2*>(values + row * kPitch + column) = make_int2(first, second);
    }
  }
  __device__ std::int32_t at(int row, int column) const {
    return kRowsInnermost ? values[column * kPitch + row] : values[row * kPitch + column];
  }
  // Four columns of a row, or four rows of a column.
  __device__ int4 four(int outer, int inner) const {
    return *reinterpret_cast<const int4*>(values + outer * kPitch + inner);
  }
};

// What a finish needs of the rows and columns of a piece, in shared memory.
struct PieceFrame {
  std::int64_t offsets[kPieceRows];  // what the finish's row_offset() says of their pixels
  alignas(16) float columns[2][kPieceColumns];  // column_values() of its columns
  int pixels[kPieceRows];                       // output pixels; -1: none

  // Called by the thread that has column `column`, whose channel is `channel`.
  template <class Finish>
  __device__ void set_column(const Finish& finish, int column, int channel) {
    const float2 values = finish.column_values(channel);
    columns[0][column] = values.x;
    columns[1][column] = values.y;
  }
  // Called by the thread that has row `row`.
  template <class Finish>
  __device__ void set_row(const ConvSizes& conv, const Finish& finish, int row, int pixel) {
    pixels[row] = pixel;
    offsets[row] = pixel < 0 ? 0 : finish.row_offset(conv, pixel);
  }
};

// Where a piece is. A thread's pieces with one place of first_channel in their block have one State
// of the finish; end() comes once after them, with a `slot` below what launch_conv() returns.
struct Piece {
  const PieceFrame& frame;
  int first_channel;  // of all output channels
  int columns;        // how many of its columns are channels
  int thread;         // 0..127, the calling thread's
};

struct NoState {};

// Bits of channels first..first + count - 1 of a pixel, count <= 16, where bytes are of several
// threads: `passes` began as zeros.
__device__ inline void add_bits(std::uint8_t* passes, std::int64_t first, std::uint32_t bits) {
  if (bits == 0) return;
  const auto address =
      reinterpret_cast<std::uintptr_t>(passes) + static_cast<std::uintptr_t>(first / 8);
  auto* word = reinterpret_cast<std::uint32_t*>(address & ~std::uintptr_t{3});
  const int shift = static_cast<int>(address % 4 * 8) + static_cast<int>(first % 8);
  const std::uint64_t placed = std::uint64_t{bits} << shift;
  if (static_cast<std::uint32_t>(placed) != 0) {
    atomicOr(word, static_cast<std::uint32_t>(placed));
  }
  if (placed >> 32 != 0) atomicOr(word + 1, static_cast<std::uint32_t>(placed >> 32));
}

// How the bits of a tensor [pixels][channels] are written.
struct PassBits {
  std::uint8_t* passes;  // or null
  bool words, bytes;     // 32 (8) channels of a piece are whole aligned words (bytes)

  // Writes the bits of four channels from `channel` on; the neighbouring threads have the channels
  // beside them. All threads of the warp must call it.
  __device__ void put_four(std::int64_t pixel, int all_channels, int channel, bool inside,
                           std::uint32_t four) const {
    const int lane = static_cast<int>(threadIdx.x % 32);
    const std::int64_t index = pixel * all_channels + channel;
    if (words || bytes) {
      std::uint32_t bits = four << (lane % 8 * 4);
      bits |= __shfl_xor_sync(0xFFFFFFFFU, bits, 1);
      if (words) {
        bits |= __shfl_xor_sync(0xFFFFFFFFU, bits, 2);
        bits |= __shfl_xor_sync(0xFFFFFFFFU, bits, 4);
        if (inside && lane % 8 == 0) *reinterpret_cast<std::uint32_t*>(passes + index / 8) = bits;
      } else if (inside && lane % 2 == 0) {
        passes[index / 8] = static_cast<std::uint8_t>(bits >> (lane % 8 * 4));
      }
    } else if (inside) {
      add_bits(passes, index, four);
    }
  }
};

// The same on the host. Where bits are added, enqueue zeros first.
inline PassBits pass_bits(const LevelConv& conv, std::uint8_t* passes) {
  const std::int64_t columns = columns_together(conv);
  return {passes, columns % 32 == 0 && is_aligned(passes, 4), columns % 8 == 0};
}

// A place in acc, from its pixel.
struct PixelPlace {
  int batch, y, x;

  __device__ PixelPlace(const ConvSizes& conv, int pixel) {
    const auto row = static_cast<std::uint32_t>(pixel) / static_cast<std::uint32_t>(conv.out_width);
    x = pixel - static_cast<int>(row) * conv.out_width;
    batch = static_cast<int>(row / static_cast<std::uint32_t>(conv.out_height));
    y = static_cast<int>(row) - batch * conv.out_height;
  }
};

}  // namespace qsim::golden::train::cuda
