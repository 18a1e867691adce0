// The convolution of conv_direct.h as a kernel.
#pragma once

#include <algorithm>

#include "golden/device/launch.cuh"
#include "golden/kernels/train/cuda/forward/conv_direct.h"
#include "golden/kernels/train/cuda/forward/conv_finish.cuh"

namespace qsim::golden::train::cuda {

using namespace golden::cuda;

// The word of q where a quad's channels begin to read.
__device__ inline int first_word(const ConvSizes& conv, int first_channel_of_quad) {
  return first_channel_of_quad / conv.columns * conv.channels / 4;
}

// weights[tap][word of the quad][column]: four weights, 0 where the word has another group's
// channels. `first`: the block's first column.
__device__ inline void load_direct_weights(const DirectConv& plan, const ConvSizes& conv, int first,
                                           std::int32_t* weights) {
  const int taps = conv.kernel_h * conv.kernel_w;
  for (int i = static_cast<int>(threadIdx.x); i < plan.weight_words; i += kFinishThreads) {
    const int column = first + i % kPieceColumns;
    const int at = i / kPieceColumns;
    const int tap = at / plan.quad_words;
    const int word = first_word(conv, column / 4 * 4) + at % plan.quad_words;
    const int first_of_group = column / conv.columns * conv.channels;
    std::uint32_t packed = 0;
    for (int b = 0; b < 4; ++b) {
      const int channel = word * 4 + b - first_of_group;
      if (column >= conv.all_columns || channel < 0 || channel >= conv.channels) continue;
      const std::int64_t from = (std::int64_t{column} * taps + tap) * conv.channels + channel;
      packed |= static_cast<std::uint32_t>(static_cast<std::uint8_t>(conv.w[from])) << (8 * b);
    }
    weights[i] = static_cast<std::int32_t>(packed);
  }
}

// Where a unit is: its first output pixel.
struct DirectUnit {
  int picture, y, x;

  __device__ DirectUnit(const DirectConv& plan, int unit) {
    picture = plan.picture_units.divide(unit);
    const int in_picture = unit - picture * plan.picture_units.divisor();
    const int row = plan.units_x.divide(in_picture);
    x = (in_picture - row * plan.units_x.divisor()) * 8;
    y = row * 8;
  }
  // The output pixel of a row of the piece; -1: none.
  __device__ int pixel(const ConvSizes& conv, int row) const {
    const int at_y = y + row / 8;
    const int at_x = x + row % 8;
    if (at_y >= conv.out_height || at_x >= conv.out_width) return -1;
    return (picture * conv.out_height + at_y) * conv.out_width + at_x;
  }
};

// Brings a unit's input; outside of the picture it is the zero_point.
template <typename Word>
__device__ void load_direct_box(const DirectConv& plan, const ConvSizes& conv,
                                const DirectUnit& unit, int first_word_of_block, Word outside,
                                Word* box) {
  const int loads = plan.pixel_loads.divisor();
  const int width = plan.box_width.divisor();
  const int words = conv.all_channels / 4;
  const int from_y = unit.y * conv.stride_h - conv.pad_top;
  const int from_x = unit.x * conv.stride_w - conv.pad_left;
  for (int i = static_cast<int>(threadIdx.x); i < plan.box_height * width * loads;
       i += kFinishThreads) {
    const int pixel = plan.pixel_loads.divide(i);
    const int part = i - pixel * loads;
    const int row = plan.box_width.divide(pixel);
    const int column = pixel - row * width;
    const int word = first_word_of_block + part * static_cast<int>(sizeof(Word) / 4);
    if (word >= words) continue;
    const int y = from_y + row;
    const int x = from_x + column;
    const bool inside = y >= 0 && y < conv.height && x >= 0 && x < conv.width;
    const std::int64_t from =
        ((std::int64_t{unit.picture} * conv.height + y) * conv.width + x) * words + word;
    box[(row * plan.pitch + column) * loads + part] =
        inside ? __ldg(reinterpret_cast<const Word*>(
                     reinterpret_cast<const std::uint32_t*>(conv.q) + from))
               : outside;
  }
}

// The sums of a quad and eight pixels of a row; `box` at the first's first tap.
__device__ inline void multiply_direct(const DirectConv& plan, const ConvSizes& conv,
                                       const std::int32_t* box, const std::int32_t* weights,
                                       std::int32_t (&sums)[8][4]) {
  const int step = conv.stride_w * plan.words;
#pragma unroll 1
  for (int ky = 0; ky < conv.kernel_h; ++ky) {
#pragma unroll 1
    for (int kx = 0; kx < conv.kernel_w; ++kx) {
      const std::int32_t* tap =
          box + (ky * conv.dilation_h * plan.pitch + kx * conv.dilation_w) * plan.words;
#pragma unroll 1
      for (int n = 0; n < plan.quad_words; ++n) {
        const int4 w = *reinterpret_cast<const int4*>(weights);
        weights += kPieceColumns;
#pragma unroll
        for (int p = 0; p < 8; ++p) {
          const std::int32_t x = tap[p * step + n];
          sums[p][0] = __dp4a(x, w.x, sums[p][0]);
          sums[p][1] = __dp4a(x, w.y, sums[p][1]);
          sums[p][2] = __dp4a(x, w.z, sums[p][2]);
          sums[p][3] = __dp4a(x, w.w, sums[p][3]);
        }
      }
    }
  }
}

// What the zero_point adds to the sums of a quad, mod 2^32.
__device__ inline int4 zero_point_sums(const DirectConv& plan, std::int32_t zero_point,
                                       const std::int32_t* weights) {
  constexpr std::int32_t kOnes = 0x01010101;
  int4 all = make_int4(0, 0, 0, 0);
  if (zero_point == 0) return all;
  for (int i = 0; i < plan.weight_words; i += kPieceColumns) {
    const int4 w = *reinterpret_cast<const int4*>(weights + i);
    all = make_int4(__dp4a(w.x, kOnes, all.x), __dp4a(w.y, kOnes, all.y), __dp4a(w.z, kOnes, all.z),
                    __dp4a(w.w, kOnes, all.w));
  }
  const auto negative = [&](std::int32_t sum) {
    return static_cast<std::int32_t>(0U - static_cast<std::uint32_t>(zero_point) *
                                              static_cast<std::uint32_t>(sum));
  };
  return make_int4(negative(all.x), negative(all.y), negative(all.z), negative(all.w));
}

// What a block keeps from unit to unit.
template <class Finish>
struct DirectBlock {
  const DirectConv& plan;
  const ConvSizes& conv;
  const Finish& finish;
  PieceFrame& frame;
  std::uint8_t* shared;         // the box, and in the same place the piece's sums
  const std::int32_t* weights;  // the thread's quad's
  int first;                    // column
  int quad, row;                // the thread's
  int4 begin;                   // of its sums
  std::uint32_t outside;        // a word of input outside of the picture
  typename Finish::State state;

  __device__ Piece piece() const {
    return {frame, first, min(kPieceColumns, conv.all_columns - first),
            static_cast<int>(threadIdx.x)};
  }

  __device__ void load(const DirectUnit& place) const {
    const int word = first_word(conv, first);
    if (plan.load_words == 4) {
      load_direct_box(plan, conv, place, word, make_uint4(outside, outside, outside, outside),
                      reinterpret_cast<uint4*>(shared));
    } else {
      load_direct_box(plan, conv, place, word, outside, reinterpret_cast<std::uint32_t*>(shared));
    }
  }

  __device__ void run(int unit) {
    const DirectUnit place(plan, unit);
    load(place);
    const int thread = static_cast<int>(threadIdx.x);
    if (thread < kPieceRows) frame.set_row(conv, finish, thread, place.pixel(conv, thread));
    __syncthreads();
    std::int32_t sums[8][4];
#pragma unroll
    for (int p = 0; p < 8; ++p) {
      sums[p][0] = begin.x;
      sums[p][1] = begin.y;
      sums[p][2] = begin.z;
      sums[p][3] = begin.w;
    }
    if (first + 4 * quad < conv.all_columns) {
      const int word = first_word(conv, first + 4 * quad) - first_word(conv, first);
      const auto* box = reinterpret_cast<const std::int32_t*>(shared) +
                        row * conv.stride_h * plan.pitch * plan.words + word;
      multiply_direct(plan, conv, box, weights, sums);
    }
    __syncthreads();
    auto& acc = *reinterpret_cast<PieceSums<Finish::kRowsInnermost>*>(shared);
#pragma unroll
    for (int p = 0; p < 8; ++p) {
      acc.put(row * 8 + p, 4 * quad, sums[p][0], sums[p][1]);
      acc.put(row * 8 + p, 4 * quad + 2, sums[p][2], sums[p][3]);
    }
    __syncthreads();
    finish.run(conv, acc, piece(), state);
    __syncthreads();
  }
};

template <class Finish>
__global__ void __launch_bounds__(kFinishThreads)
    conv_direct(const __grid_constant__ DirectConv plan, const __grid_constant__ ConvSizes conv,
                const __grid_constant__ Finish finish) {
  begin_kernel();
  extern __shared__ __align__(16) std::uint8_t shared[];
  __shared__ PieceFrame frame;
  auto* weights = reinterpret_cast<std::int32_t*>(shared + plan.shared_bytes) - plan.weight_words;
  const int thread = static_cast<int>(threadIdx.x);
  const int blocks = plan.column_blocks.divisor();
  const int first = static_cast<int>(blockIdx.x) % blocks * kPieceColumns;
  const int slot = static_cast<int>(blockIdx.x) / blocks;
  load_direct_weights(plan, conv, first, weights);
  if constexpr (Finish::kHasColumnValues) {
    const int column = thread - kPieceRows;
    if (column >= 0 && first + column < conv.all_columns) {
      frame.set_column(finish, column, first + column);
    }
  }
  __syncthreads();
  const int quad = thread % 16;
  const std::int32_t zero_point = conv.zero_point == nullptr ? 0 : *conv.zero_point;
  DirectBlock<Finish> block{plan,
                            conv,
                            finish,
                            frame,
                            shared,
                            weights + 4 * quad,
                            first,
                            quad,
                            thread / 16,
                            zero_point_sums(plan, zero_point, weights + 4 * quad),
                            static_cast<std::uint32_t>(zero_point & 0xFF) * 0x01010101U,
                            {}};
  for (int unit = slot; unit < plan.units; unit += static_cast<int>(gridDim.x) / blocks) {
    block.run(unit);
  }
  finish.end(conv, block.state, block.piece(), slot);
}

// Returns the number of slots.
template <class Finish>
std::int64_t launch_direct(const DirectConv& plan, const ConvSizes& conv, const Finish& finish,
                           cudaStream_t stream) {
  launch_kernel("launching a convolution", conv_direct<Finish>, plan.blocks, kFinishThreads,
                static_cast<std::size_t>(plan.shared_bytes), stream, plan, conv, finish);
  return plan.blocks / plan.column_blocks.divisor();
}

}  // namespace qsim::golden::train::cuda
