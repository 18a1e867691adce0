#include "core/real_graph.h"

#include <cmath>
#include <set>

#include "core/checked_math.h"
#include "core/graph_order.h"
#include "core/layer_checks.h"
#include "core/limits.h"
#include "core/printable.h"

namespace qsim {
namespace {

// The shapes of the tensors that a layer reads, in the order of its operands.
using Operands = std::vector<ImageShape>;

void check_finite(const std::string& place, const Tensor& tensor, std::string_view what) {
  const std::span<const float> values = tensor.as<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    fail_at(place, std::string(what) + " has " + std::to_string(values[i]) + " at index " +
                       std::to_string(i) + "; expected finite numbers");
  }
}

void check_real_constant(const std::string& place, const Tensor& tensor, std::string_view what,
                         const Shape& shape) {
  check_constant(place, tensor, what, DType::kFloat32, shape);
  QSIM_CHECK(!tensor.bytes.empty(), place + ": " + std::string(what) + " has no bytes");
  check_finite(place, tensor, what);
}

void check(const std::string& place, const RealConv2d& conv, const Operands& operands,
           const ImageShape& output) {
  check_window(place, conv.window);
  check_groups(place, conv.groups, operands[0].channels, output.channels);
  check_real_constant(place, conv.weights, "weights",
                      {output.channels, conv.window.kernel_h, conv.window.kernel_w,
                       operands[0].channels / conv.groups});
  check_real_constant(place, conv.bias, "bias", {output.channels});
  check_convolution_shape(place, conv.window, operands[0], output);
}

void check(const std::string& place, const RealLinear& linear, const Operands& operands,
           const ImageShape& output) {
  check_is_vector(place, operands[0]);
  check_real_constant(place, linear.weights, "weights", {output.channels, operands[0].channels});
  check_real_constant(place, linear.bias, "bias", {output.channels});
  check_output_shape(place, output, {operands[0].batch, 1, 1, output.channels});
}

void check(const std::string& place, const RealMaxPool& pool, const Operands& operands,
           const ImageShape& output) {
  check_pool(place, pool.window, operands[0], output);
}

void check(const std::string& place, const RealAveragePool& pool, const Operands& operands,
           const ImageShape& output) {
  check_pool(place, pool.window, operands[0], output);
  check_no_dilation(place, pool.window);
}

void check(const std::string& place, const RealAdd&, const Operands& operands,
           const ImageShape& output) {
  for (const ImageShape& operand : operands) check_operand_shape(place, operand, output);
}

void check(const std::string& place, const RealConcat&, const Operands& operands,
           const ImageShape& output) {
  ImageShape joined = output;
  joined.channels = 0;
  for (const ImageShape& operand : operands) {
    joined.channels = checked_add(joined.channels, operand.channels);
    check_operand_shape(place, operand,
                        {output.batch, output.height, output.width, operand.channels});
  }
  check_output_shape(place, output, joined);
}

void check(const std::string& place, const RealActivation& activation, const Operands& operands,
           const ImageShape& output) {
  check_output_shape(place, output, operands[0]);
  if (!std::isfinite(activation.alpha) || !std::isfinite(activation.beta)) {
    fail_at(place, "alpha or beta is not a finite number; expected finite numbers");
  }
  if (activation.lo <= activation.hi) return;
  fail_at(place, "clip range " + std::to_string(activation.lo) + ".." +
                     std::to_string(activation.hi) + "; expected lo at most hi");
}

void check(const std::string& place, const RealFlatten&, const Operands& operands,
           const ImageShape& output) {
  check_flat_shape(place, operands[0], output);
}

void check_layer(const RealGraph& graph, const RealLayer& layer) {
  const std::string place = layer_place(layer.name, layer.source);
  check_tensor_shape(place + ": output", graph.tensors[layer.output]);
  Operands operands;
  for (const TensorId input : layer.inputs) operands.push_back(graph.tensors[input]);
  with_place(place, [&] {
    std::visit(
        [&](const auto& operation) {
          check(place, operation, operands, graph.tensors[layer.output]);
        },
        layer.operation);
  });
}

}  // namespace

std::string_view operation_name(const RealOperation& operation) {
  constexpr std::string_view kActivations[] = {"relu",    "clip",         "leaky_relu",
                                               "sigmoid", "hard_sigmoid", "hard_swish"};
  if (const auto* activation = std::get_if<RealActivation>(&operation)) {
    return kActivations[static_cast<std::size_t>(activation->kind)];
  }
  constexpr std::string_view kNames[] = {"conv2d", "linear", "max_pool",   "average_pool",
                                         "add",    "concat", "activation", "flatten"};
  static_assert(std::size(kNames) == std::variant_size_v<RealOperation>);
  return kNames[operation.index()];
}

TensorId append(RealGraph& graph, std::string name, RealOperation operation,
                std::vector<TensorId> inputs, ImageShape output, std::string source) {
  graph.output = graph.tensors.size();
  graph.tensors.push_back(output);
  graph.layers.push_back({std::move(name),
                          std::move(operation),
                          std::move(inputs),
                          graph.output,
                          std::move(source),
                          {}});
  return graph.output;
}

void set_batch(RealGraph& graph, std::int64_t batch) {
  for (ImageShape& tensor : graph.tensors) tensor.batch = batch;
}

void validate(const RealGraph& graph) {
  if (graph.layers.empty()) throw_bad_input("graph '" + echoed(graph.name) + "' has no layers");
  if (std::ssize(graph.layers) > kMaxLayers) {
    throw_bad_input("graph '" + echoed(graph.name) + "' has " +
                    std::to_string(graph.layers.size()) + " layers; at most " +
                    std::to_string(kMaxLayers) + " are allowed");
  }
  check_order(graph);
  check_tensor_shape("graph input", graph.input_shape());
  std::set<std::string> names;
  for (const RealLayer& layer : graph.layers) {
    if (!names.insert(layer.name).second) {
      throw_bad_input((layer.source.empty() ? "" : layer.source + ": ") +
                      "two layers are called '" + echoed(layer.name) + "'; names must be unique");
    }
    check_layer(graph, layer);
  }
}

}  // namespace qsim
