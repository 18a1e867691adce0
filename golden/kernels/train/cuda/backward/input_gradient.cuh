// The gradient of a convolution's input as a product: rows are pixels of x, columns its channels,
// depths the taps and channels of g. For input_gradient.cu.
#pragma once

#include "golden/kernels/train/cuda/backward/bfloat16_tiles.cuh"
#include "golden/kernels/train/cuda/backward/conv_geometry.h"
#include "golden/kernels/train/cuda/backward/real_values.cuh"

namespace qsim::golden::train::cuda {

inline constexpr int kInputRows = 128;    // pixels of a block
inline constexpr int kInputColumns = 64;  // channels
inline constexpr int kInputDepth = 32;    // of a step
inline constexpr int kInputStages = 4;
inline constexpr int kInputThreads = 256;
inline constexpr int kInputStageBytes = (kInputRows + kInputColumns) * kInputDepth * 2;

struct InputGradientArgs {
  ConvGeometry conv;
  const std::uint16_t* g;
  // [groups][group_in][depth]: where g is copied in vectors, depths are taps of `chunks` steps
  // each; else they are taps of group_out, without gaps until the last.
  const std::uint16_t* weights;
  const std::uint8_t* passes;
  RealView dx;
  int depth, chunks, column_tiles;
  // Pixels are taken by their places modulo the strides, so that a block's have the same taps.
  int phase_tiles;  // of each
  int phases_h, phases_w;
  bool pairs;  // dx takes two channels at a time
};

struct InputPixel {
  int b, y, x;      // of x
  int row, column;  // y and x without the phase, divided by the strides
  bool inside;
};

// Blocks of column tiles follow each other, then those of phase tiles, phases and groups.
struct InputBlock {
  int first_column, first_row, phase_h, phase_w, group;
  int rows_h, rows_w;  // pixels of the phase in a picture

  __device__ explicit InputBlock(const InputGradientArgs& args) {
    int left = static_cast<int>(blockIdx.x);
    first_column = left % args.column_tiles * kInputColumns;
    left /= args.column_tiles;
    first_row = left % args.phase_tiles * kInputRows;
    left /= args.phase_tiles;
    phase_w = left % args.phases_w;
    left /= args.phases_w;
    phase_h = left % args.phases_h;
    group = left / args.phases_h;
    const ConvGeometry& c = args.conv;
    rows_h = (c.height - phase_h + c.stride_h - 1) / c.stride_h;
    rows_w = (c.width - phase_w + c.stride_w - 1) / c.stride_w;
  }

  __device__ InputPixel pixel(const ConvGeometry& c, int in_tile) const {
    const int index = first_row + in_tile;
    const int of_picture = rows_h * rows_w;
    InputPixel pixel;
    pixel.b = index / of_picture;
    pixel.inside = pixel.b < c.batch;
    const int in_picture = index - pixel.b * of_picture;
    pixel.row = in_picture / rows_w;
    pixel.column = in_picture - pixel.row * rows_w;
    pixel.y = pixel.row * c.stride_h + phase_h;
    pixel.x = pixel.column * c.stride_w + phase_w;
    return pixel;
  }
};

// A place of x, less its phase, and a tap: the output that they meet at, where it is whole.
struct OutputShift {
  bool whole;
  int shift;  // to add to the place without its phase

  __device__ OutputShift(int phase, int pad, int tap, int dilation, int stride) {
    const int from = phase + pad - tap * dilation;
    shift = from / stride;
    whole = shift * stride == from;
  }
};

// The steps of a block: chunks of the taps that its phase has.
class InputSteps {
 public:
  __device__ InputSteps(const InputGradientArgs& args, const InputBlock& block)
      : args_(args), block_(block) {
    settle();
  }
  __device__ bool at_end() const { return tap_h >= args_.conv.kernel_h; }
  __device__ void advance() {
    if (++chunk < args_.chunks) return;
    chunk = 0;
    ++tap_w;
    settle();
  }

  int tap_h = 0, tap_w = 0, chunk = 0;
  int shift_h = 0, shift_w = 0;

 private:
  // Moves on from (tap_h, tap_w) to a tap of the phase.
  __device__ void settle() {
    const ConvGeometry& c = args_.conv;
    for (; tap_h < c.kernel_h; ++tap_h, tap_w = 0) {
      const OutputShift h(block_.phase_h, c.pad_top, tap_h, c.dilation_h, c.stride_h);
      if (!h.whole) continue;
      for (; tap_w < c.kernel_w; ++tap_w) {
        const OutputShift w(block_.phase_w, c.pad_left, tap_w, c.dilation_w, c.stride_w);
        if (!w.whole) continue;
        shift_h = h.shift;
        shift_w = w.shift;
        return;
      }
    }
  }

  const InputGradientArgs& args_;
  const InputBlock& block_;
};

// The sums of a warp: 32 pixels and 32 channels.
struct InputSums {
  float values[2][4][4] = {};

  // One step from shared memory: rows of g at `a`, of weights at `b`.
  __device__ void multiply(std::uint32_t a, std::uint32_t b, int first_row, int first_column) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int k = 0; k < kInputDepth / 16; ++k) {
      std::uint32_t rows[2][4];
      std::uint32_t columns[2][4];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        golden::cuda::load_matrices(
            rows[i], a + in_rows_of_64(first_row + 16 * i + lane % 16, 2 * k + lane / 16));
        golden::cuda::load_matrices(
            columns[i], b + in_rows_of_64(first_column + 16 * i + lane % 8 + lane / 16 * 8,
                                          2 * k + lane / 8 % 2));
      }
#pragma unroll
      for (int i = 0; i < 2; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          multiply_bfloat16(values[i][j], rows[i], columns[j / 2][j % 2 * 2],
                            columns[j / 2][j % 2 * 2 + 1]);
        }
      }
    }
  }

  __device__ void store(const InputGradientArgs& args, const InputBlock& block, int first_row,
                        int first_column) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const ConvGeometry& c = args.conv;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const InputPixel pixel = block.pixel(c, first_row + 8 * i + lane / 4);
      if (!pixel.inside) continue;
      const std::int64_t at =
          pixel.b * args.dx.stride_b + pixel.y * args.dx.stride_h + pixel.x * args.dx.stride_w;
      const std::int64_t bit =
          ((std::int64_t{pixel.b} * c.height + pixel.y) * c.width + pixel.x) * c.channels;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int in_group = block.first_column + first_column + 8 * j + lane % 4 * 2;
        if (in_group >= c.group_in) continue;
        const int channel = block.group * c.group_in + in_group;
        float2 two = {values[i / 2][j][i % 2 * 2], values[i / 2][j][i % 2 * 2 + 1]};
        if (!passes_at(args.passes, bit + channel)) two.x = 0;
        const bool has_second = in_group + 1 < c.group_in;
        if (has_second && !passes_at(args.passes, bit + channel + 1)) two.y = 0;
        if (args.pairs) {
          store_pair(args.dx.data, args.dx.type, at + channel, two);
          continue;
        }
        store_real(args.dx.data, args.dx.type, at + channel * args.dx.stride_c, two.x);
        if (has_second) {
          store_real(args.dx.data, args.dx.type, at + (channel + 1) * args.dx.stride_c, two.y);
        }
      }
    }
  }
};

}  // namespace qsim::golden::train::cuda
