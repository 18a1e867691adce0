#include <set>

#include "core/base/checked_math.h"
#include "core/base/limits.h"
#include "core/base/printable.h"
#include "core/network/graph_order.h"
#include "core/network/graph_shapes.h"
#include "core/network/layer_checks.h"
#include "core/network/operation_checks.h"

namespace qsim {
namespace {

void check_value(const Value& value, const std::string& what, bool is_real) {
  if (is_real) {
    QSIM_CHECK(value.is_real() && value.zero_point == 0 && !value.scale,
               what + ": not a float32 tensor of a float network");
    return check_tensor_shape(what, value.shape);
  }
  if (value.dtype != DType::kInt8 && value.dtype != DType::kUint8) {
    throw_bad_input(what + ": dtype " + std::string(dtype_name(value.dtype)) +
                    "; activations are int8 or uint8");
  }
  if (value.zero_point < value.min() || value.zero_point > value.max()) {
    throw_bad_input(what + ": zero_point " + std::to_string(value.zero_point) + " is outside " +
                    std::to_string(value.min()) + ".." + std::to_string(value.max()));
  }
  check_tensor_shape(what, value.shape);
}

}  // namespace

TensorId append(Graph& graph, std::string name, Operation operation, Value output,
                std::string source) {
  return append(graph, std::move(name), std::move(operation), std::vector<TensorId>{graph.output},
                std::move(output), std::move(source));
}

TensorId append(Graph& graph, std::string name, Operation operation, std::vector<TensorId> inputs,
                Value output, std::string source) {
  graph.output = graph.tensors.size();
  graph.tensors.push_back(std::move(output));
  graph.layers.push_back(
      {std::move(name), std::move(operation), std::move(inputs), graph.output, std::move(source)});
  return graph.output;
}

void set_batch(Graph& graph, std::int64_t batch) {
  for (Value& tensor : graph.tensors) tensor.shape.batch = batch;
}

std::string layer_place(const std::string& name, const std::string& source) {
  return source.empty() ? "layer '" + echoed(name) + "'" : source;
}

std::int64_t layer_macs(const Graph& graph, std::size_t index) {
  const Layer& layer = graph.layers[index];
  const ImageShape& out = graph.output_of(index).shape;
  const std::int64_t pixels = checked_mul(checked_mul(out.batch, out.height), out.width);
  if (const auto* conv = std::get_if<Conv2d>(&layer.operation)) {
    return checked_mul(pixels, conv->weights.elems());
  }
  if (const auto* fc = std::get_if<FullyConnected>(&layer.operation)) {
    return checked_mul(pixels, fc->weights.elems());
  }
  return 0;
}

void validate(const Graph& graph) {
  if (graph.layers.empty()) throw_bad_input("graph '" + echoed(graph.name) + "' has no layers");
  if (static_cast<std::int64_t>(graph.layers.size()) > kMaxLayers) {
    throw_bad_input("graph '" + echoed(graph.name) + "' has " +
                    std::to_string(graph.layers.size()) + " layers; at most " +
                    std::to_string(kMaxLayers) + " are allowed");
  }
  check_order(graph);
  check_value(graph.input_value(), "graph input", graph.is_real());
  std::set<std::string> names;
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    const Layer& layer = graph.layers[i];
    if (!names.insert(layer.name).second) {
      const std::string place = layer.source.empty() ? "" : layer.source + ": ";
      throw_bad_input(place + "two layers are called '" + echoed(layer.name) +
                      "'; names must be unique");
    }
    check_value(graph.output_of(i), "layer '" + echoed(layer.name) + "' output", graph.is_real());
    with_place(layer_place(layer.name, layer.source), [&] { check_operation(graph, i); });
  }
  has_tensors(graph);  // all or none
}

}  // namespace qsim
