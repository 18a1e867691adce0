#include "golden/graph/real/executor_checks.h"

#include <string>

namespace qsim::golden {

void check_executor(const Graph& graph, const RealExecutorOptions& options) {
  validate(graph);
  QSIM_CHECK(graph.is_real(), graph.name + ": not a float network");
  const std::size_t rules = options.rules.size();
  QSIM_CHECK(
      rules == 0 || rules == graph.tensors.size(),
      std::to_string(rules) + " rules for " + std::to_string(graph.tensors.size()) + " tensors");
  for (const std::optional<TensorRule>& rule : options.rules) {
    if (rule) check_rule(*rule);
  }
  for (const auto& [index, weights] : options.layer_weights) {
    QSIM_CHECK(index < graph.layers.size(), "integer weights of layer " + std::to_string(index));
    check_layer_weights(graph.layers[index], weights);
  }
}

void check_input(const Graph& graph, const Tensor& input) {
  Shape expected = graph.input_shape().nhwc();
  if (!input.shape.empty()) expected[0] = input.shape[0];
  const bool fits =
      input.dtype == DType::kFloat32 && input.shape == expected && input.shape[0] >= 1;
  if (fits) return;
  throw_bad_input("input is " + std::string(dtype_name(input.dtype)) + " " +
                  shape_text(input.shape) + "; graph '" + graph.name + "' reads float32 " +
                  shape_text(graph.input_shape().nhwc()) + " with any number of pictures");
}

}  // namespace qsim::golden
