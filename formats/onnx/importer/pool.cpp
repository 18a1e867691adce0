// MaxPool and GlobalMaxPool, and the average pools: QLinearAveragePool, QLinearGlobalAveragePool,
// and AveragePool, GlobalAveragePool and ReduceMean between DequantizeLinear and QuantizeLinear.
#include "formats/onnx/importer/operators.h"
#include "formats/onnx/importer/pool_window.h"

namespace qsim::formats {
namespace {

constexpr int kFirstOpsetWith8Bit = 12;

// Whether larger levels give no smaller numbers, so that the largest level gives the largest
// number.
bool is_monotone(const ImportedTensor& reals, DType dtype) {
  if (!reals.function) return true;
  const std::int32_t min = dtype == DType::kUint8 ? 0 : -128;
  const auto at = [&](std::int32_t level) {
    return (*reals.function)[static_cast<std::size_t>(level & 0xFF)];
  };
  for (std::int32_t level = min; level < min + 255; ++level) {
    if (!(at(level) <= at(level + 1))) return false;
  }
  return true;
}

OpenLayer open_average_pool(const GraphBuilder& graph, const NodeReader& node,
                            const NodeAttributes& attributes, ImportedTensor input) {
  graph.require_axes(node, input, Axes::kNchw);
  const PoolWindow read = read_average_pool(node, attributes, graph.shape(input));
  AveragePool pool{read.window};
  pool.count_include_pad = attributes.integer("count_include_pad", 0) != 0;
  if (take_pads(pool.window, pool.count_include_pad, input.pads)) input.pads = {};
  return {node.node(), pool, {std::move(input)}, read.shape, Axes::kNchw};
}

OpenLayer open_global_pool(const GraphBuilder& graph, const NodeReader& node, ImportedTensor input,
                           Axes axes) {
  const PoolWindow pool = global_pool(graph.shape(input));
  return {node.node(), AveragePool{pool.window}, {std::move(input)}, pool.shape, axes};
}

// What a max-pool reads: levels, or the numbers of levels in an order that is theirs.
ImportedTensor input_of_max_pool(const NodeReader& node, GraphBuilder& graph) {
  node.require_inputs(1, 1);
  ImportedTensor input = graph.moved(node, 0);
  if (input.kind == ImportedTensor::Kind::kReal) graph.levels(node, 0);  // refuses it
  graph.require_axes(node, input, Axes::kNchw);
  if (input.kind == ImportedTensor::Kind::kLevels && node.opset() < kFirstOpsetWith8Bit) {
    node.malformed("8-bit MaxPool in opset " + std::to_string(node.opset()),
                   "opset " + std::to_string(kFirstOpsetWith8Bit) + " or later");
  }
  if (!is_monotone(input, graph.value(input).dtype)) {
    node.refuse("reads float32 of an activation that is not monotone",
                "a QuantizeLinear and a DequantizeLinear between the two");
  }
  input.id = graph.without_pads(node, input).id;
  input.pads = {};
  return input;
}

}  // namespace

void import_max_pool(const NodeReader& node, GraphBuilder& graph) {
  const NodeAttributes attributes(node, {"auto_pad", "ceil_mode", "dilations", "kernel_shape",
                                         "pads", "storage_order", "strides"});
  const ImportedTensor input = input_of_max_pool(node, graph);
  attributes.require_integer("storage_order", 0);
  const PoolWindow pool = read_pool(node, attributes, graph.value(input).shape);
  graph.define_moved(node, input, MaxPool{pool.window}, pool.shape, Axes::kNchw);
}

void import_global_max_pool(const NodeReader& node, GraphBuilder& graph) {
  const NodeAttributes attributes(node, {});
  const ImportedTensor input = input_of_max_pool(node, graph);
  const PoolWindow pool = global_pool(graph.value(input).shape);
  graph.define_moved(node, input, MaxPool{pool.window}, pool.shape, Axes::kNchw);
}

void import_average_pool(const NodeReader& node, GraphBuilder& graph) {
  node.require_inputs(1, 1);
  const NodeAttributes attributes(node, {"auto_pad", "ceil_mode", "count_include_pad", "dilations",
                                         "kernel_shape", "pads", "strides"});
  graph.define_open(node, std::make_shared<OpenLayer>(open_average_pool(
                              graph, node, attributes, graph.dequantized(node, 0))));
}

void import_global_average_pool(const NodeReader& node, GraphBuilder& graph) {
  node.require_inputs(1, 1);
  const NodeAttributes attributes(node, {});
  const ImportedTensor input = graph.dequantized(node, 0);
  graph.require_axes(node, input, Axes::kNchw);
  graph.define_open(node,
                    std::make_shared<OpenLayer>(open_global_pool(graph, node, input, Axes::kNchw)));
}

void import_reduce_mean(const NodeReader& node, GraphBuilder& graph) {
  node.require_inputs(1, 2);
  const ImportedTensor input = graph.dequantized(node, 0);
  const Axes axes = read_reduction(node, input.axes);
  graph.define_open(node, std::make_shared<OpenLayer>(open_global_pool(graph, node, input, axes)));
}

void import_qlinear_average_pool(const NodeReader& node, GraphBuilder& graph) {
  node.require_inputs(4, 5);
  const NodeAttributes attributes(
      node, {"auto_pad", "ceil_mode", "channels_last", "count_include_pad", "dilations",
             "kernel_shape", "pads", "strides"});
  attributes.require_integer("channels_last", 0);
  const DType dtype = graph.value(graph.levels(node, 0)).dtype;
  const ImportedTensor input = graph.levels(node, 0, read_quantization(node, 1, "x", dtype));
  OpenLayer layer = open_average_pool(graph, node, attributes, input);
  graph.define(node, graph.close(node, layer, read_quantization(node, 3, "y", dtype)));
}

void import_qlinear_global_average_pool(const NodeReader& node, GraphBuilder& graph) {
  node.require_inputs(4, 5);
  const NodeAttributes attributes(node, {"channels_last"});
  const bool channels_last = attributes.integer("channels_last", 0) != 0;
  const DType dtype = graph.value(graph.levels(node, 0)).dtype;
  const ImportedTensor input = graph.levels(node, 0, read_quantization(node, 1, "x", dtype));
  const Axes axes = channels_last ? Axes::kNhwc : Axes::kNchw;
  graph.require_axes(node, input, axes);
  OpenLayer layer = open_global_pool(graph, node, input, axes);
  graph.define(node, graph.close(node, layer, read_quantization(node, 3, "y", dtype)));
}

}  // namespace qsim::formats
