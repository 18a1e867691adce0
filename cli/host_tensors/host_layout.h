// Between the core's NHWC 8-bit tensors and the tensors of the outside world, in the model's own
// layout and dtype.
#pragma once

#include <string>
#include <vector>

#include "core/graph.h"

namespace qsim {

// A `.npy` of the model's own layout (NCHW for ONNX; also [N, C] where the picture is one pixel),
// float32 or the graph's 8-bit dtype, as the graph's input. `source` names it in errors.
Tensor input_from_host(const Tensor& tensor, const Graph& graph, const std::string& source);

// The same of any number of pictures, at least one; the graph's own batch does not count.
Tensor pictures_from_host(const Tensor& tensor, const Graph& graph, const std::string& source);

// The model's output from `last`, the ofmap of graph layer `layer`: flattened if Flatten layers
// follow, [N, C] or the model's own layout. The 8-bit values as they are, or, with `as_model_ends`,
// dequantized to float32 if the model ends so.
Tensor output_to_host(const Tensor& last, std::size_t layer, const Graph& graph,
                      bool as_model_ends);

// The real numbers of `value` for one picture of a [N][1][1][C] tensor; raw values when there is
// no scale.
std::vector<double> picture_scores(const Tensor& tensor, const Value& value, std::int64_t picture);

}  // namespace qsim
