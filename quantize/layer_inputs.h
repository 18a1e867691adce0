// What a convolution or a linear layer reads at sampled positions of its output: rows of inputs in
// the order of its weights, for its Gram matrix.
#pragma once

#include <cstdint>
#include <vector>

#include "core/network/graph.h"
#include "quantize/weights/matrix.h"

namespace qsim::quantize {

struct OutputPosition {
  std::int64_t picture = 0;
  std::int64_t y = 0;
  std::int64_t x = 0;
};

// `count` positions (all of them where there are fewer), spread evenly over the pictures of a
// tensor of that shape, at places drawn by `seed`; a place may be drawn twice.
std::vector<OutputPosition> sample_positions(const ImageShape& output, std::int64_t count,
                                             std::uint64_t seed);

// One a group: a row for each position, a column for each weight of an output channel. `input` is
// float32 [N][H][W][C]; outside the picture is 0.
std::vector<Matrix> inputs_at(const Operation& operation, const Tensor& input,
                              const std::vector<OutputPosition>& positions);

// One a group: a row for each of its output channels.
std::vector<Matrix> weights_by_group(const Operation& operation);

}  // namespace qsim::quantize
