// Binary convolution: M bases of weights times N bases of activations, and a stage that makes the
// next layer's bits of it. Two paths give the same bits: plain loops over +1 and -1
// (reference_conv.cpp), and popcounts of words (optimised_conv.h).
// docs/reference/kernels.md has the definition, which a GPU meets too.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/network/operations.h"
#include "golden/common/sizes.h"
#include "golden/kernels/binary/binary_weights.h"
#include "golden/kernels/binary/bit_tensor.h"

namespace qsim::golden {

// y[o] = bias[o] + sum over i of alpha_i[o] * (sum over j of beta_j * dot_ij[o]), where dot_ij is
// the integer sum of B_i * A_j over the taps inside the picture. A pad is 0 and adds nothing.
//
// In float32: s_i = fma(beta_j, dot_ij, s_i) for j = 1..N, from +0; y = fma(alpha_i, s_i, y) for
// i = 1..M, from bias[o], or from +0 without one. dot_ij is rounded to float32 first, which changes
// nothing up to 2^24. A NaN is written as the bits 0x7fc00000.
struct BinaryConv {
  BinaryWeights weights;
  std::vector<float> beta;  // [activation bases]
  std::vector<float> bias;  // [out_channels], or empty
  Window window;            // its kernel is that of the weights
};

// Windows of `size` by `size` pixels, `stride` apart; no pads, and the last window is whole.
struct BinaryPool {
  std::int64_t size = 2;
  std::int64_t stride = 2;
};

// What makes bits of y: max-pool, batch norm, ReLU, quantize, in this order (Lin et al. 2017,
// section 4). In float32: m = -infinity, then m = y for each y > m, row by row; z = fma(gain, m,
// shift); with ReLU z = +0 where z < 0; A_j = +1 where z + v_j > 0.5. A NaN under a window is
// passed over; any other NaN gives -1.
struct BinaryStage {
  std::optional<BinaryPool> pool;
  std::vector<float> gain;   // [out_channels]
  std::vector<float> shift;  // [out_channels]
  bool relu = true;
  std::vector<float> v;  // [bases of the output]
};

// [batch][height][width][out_channels] of a convolution with these weights. Throws Error for
// another number of channels, a window with another kernel, a stride or dilation below 1, a pad
// below 0, a window larger than the padded picture, and a dot beyond int32.
ImageShape window_shape(const WeightShape& weights, const Window& window, const ImageShape& input);

// [batch][height][width][out_channels] of y. Throws Error as window_shape does, and
// for lists of another length and numbers that are not finite.
ImageShape output_shape(const BinaryConv& conv, const ImageShape& input, int input_bases);
inline ImageShape output_shape(const BinaryConv& conv, const BitTensor& input) {
  return output_shape(conv, input.shape, input.bases);
}

// The same for what the stage makes. Also throws Error for a pool larger than y, and lists of
// another length than out_channels.
ImageShape stage_shape(const BinaryConv& conv, const BinaryStage& stage, const ImageShape& input,
                       int input_bases);
inline ImageShape stage_shape(const BinaryConv& conv, const BinaryStage& stage,
                              const BitTensor& input) {
  return stage_shape(conv, stage, input.shape, input.bases);
}

// y in plain loops, [batch][height][width][out_channels].
std::vector<float> reference_conv(const BinaryConv& conv, const BitTensor& input);
// The stage of `y`, which has this shape, in plain loops.
BitTensor reference_stage(const BinaryStage& stage, std::span<const float> y,
                          const ImageShape& shape);

// dot_ij of one pixel and output channel, by definition; for tests and for people who read.
std::int32_t reference_dot(const BinaryConv& conv, const BitTensor& input, int weight_base,
                           int activation_base, std::int64_t batch, std::int64_t y, std::int64_t x,
                           std::int64_t out_channel);

}  // namespace qsim::golden
