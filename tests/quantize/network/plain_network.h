// A float network by plain loops in double: what the tests of the quantizer compare with. It shares
// nothing with golden.
#pragma once

#include <vector>

#include "core/network/graph.h"
#include "quantize/ranges/tensor_statistics.h"

namespace qsim::quantize {

// [N][H][W][C]
struct PlainTensor {
  ImageShape shape;
  std::vector<double> values;

  double& at(std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t c) {
    return values[static_cast<std::size_t>(
        ((n * shape.height + y) * shape.width + x) * shape.channels + c)];
  }
  double at(std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t c) const {
    return const_cast<PlainTensor*>(this)->at(n, y, x, c);
  }
};

// One layer; `weights` replace those of the operation unless they are empty.
PlainTensor plain_layer(const Operation& operation, const std::vector<PlainTensor>& inputs,
                        const ImageShape& output, const std::vector<double>& weights = {});

// Every tensor of the graph.
std::vector<PlainTensor> plain_run(const Graph& graph, const PlainTensor& input);

// Statistics of those tensors, as calibration on them would give.
std::vector<TensorStatistics> plain_statistics(const std::vector<PlainTensor>& tensors);

// (level - zero_point) * scale
PlainTensor plain_reals(const Tensor& levels, const Value& value);
// Levels of an input, half to even.
Tensor plain_levels(const PlainTensor& reals, const Value& value);
// By the tensor's dtype.
std::vector<int> levels_of(const Tensor& tensor);

}  // namespace qsim::quantize
