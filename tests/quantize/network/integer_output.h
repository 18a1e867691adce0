// How far the output of fake quantization is from that of the integer-only network.
#pragma once

#include "core/network/quantized_network.h"
#include "golden/common/thread_team.h"
#include "quantize/fake_network.h"

namespace qsim::quantize {

// How far apart two outputs are, in real numbers.
struct OutputDistance {
  double largest = 0;  // |a - b|
  double mean = 0;     // of |a - b|
  double root_mean_square = 0;
  std::int64_t pictures = 0;
  std::int64_t equal_classes = 0;  // pictures whose first largest number is at the same place
};

// Two float32 tensors of one shape, the first axis the pictures.
OutputDistance distance(const Tensor& a, const Tensor& b);

// The levels of a Value in real numbers, as DequantizeLinear.
Tensor dequantized_tensor(const Tensor& levels, const Value& value);

// The output of fake quantization against that of the integer-only network, which golden computes,
// of float32 pictures [N][H][W][C].
OutputDistance fake_against_integer(const FakeNetwork& fake, const QuantizedNetwork& integer,
                                    const Tensor& pictures, golden::ThreadTeam& team);

}  // namespace qsim::quantize
