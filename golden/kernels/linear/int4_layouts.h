// 4-bit weights as other programs store them: GPTQ, AWQ and Marlin. Eight numbers are in an int32,
// number i in bits 4i to 4i + 3; scales are FP16. docs/reference/kernels.md has the layouts.
#pragma once

#include "golden/kernels/linear/linear.h"

namespace qsim::golden {

enum class Int4Layout : std::uint8_t {
  kGptq,    // zero_points are stored minus 1
  kGptqV2,  // zero_points as they are
  kAwq,
  kMarlin,  // no zero_points: 8
};

struct Int4Tensors {
  std::vector<std::int32_t> qweight;  // GPTQ [K/8][N], AWQ [K][N/8], Marlin [K/16][2N]
  std::vector<std::int32_t> qzeros;   // [groups][N/8]; of Marlin none
  std::vector<std::uint16_t> scales;  // [groups][N], FP16; of Marlin permuted
  // GPTQ alone: the group of each input feature; empty: k / group_size.
  std::vector<std::int32_t> group_index = {};

  bool operator==(const Int4Tensors&) const = default;
};

// Reads without loss. Throws Error for sizes that the layout does not have (K a multiple of 8, with
// Marlin of 16; N of 8, with Marlin of 64), tensors of another size, and groups in another order.
LinearWeights read_int4(Int4Layout layout, const Int4Tensors& tensors, std::int64_t out_features,
                        std::int64_t in_features, std::int64_t group_size);

// Writes without loss, and so only what the layout can hold: throws Error for other sizes, weights
// of 8 bits, a zero_point that it does not have (kGptq: 1..16, kMarlin: 8, else 0..15) and a scale
// that is not an FP16 number.
Int4Tensors write_int4(Int4Layout layout, const LinearWeights& weights);

}  // namespace qsim::golden
