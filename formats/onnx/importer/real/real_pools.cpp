// MaxPool, AveragePool, the global pools and ReduceMean.
#include "formats/onnx/importer/pool_window.h"
#include "formats/onnx/importer/real/real_operators.h"

namespace qsim::formats {
namespace {

// ReduceMean and ReduceMax over height and width.
template <typename Pool>
void reduce(const NodeReader& node, RealBuilder& graph) {
  node.require_inputs(1, 2);
  const RealTensor input = graph.without_pads(node, graph.tensor(node, 0));
  const Axes axes = read_reduction(node, input.axes);
  const PoolWindow pool = global_pool(graph.shape(input));
  const RealTensor reduced =
      graph.add_layer(node, node.layer_name(), Pool{pool.window}, {input}, pool.shape, input.axes);
  if (axes == input.axes) return graph.define(node, reduced);
  graph.define_flat(node, node.layer_name() + "/flatten", reduced, axes);
}

}  // namespace

void import_real_max_pool(const NodeReader& node, RealBuilder& graph) {
  node.require_inputs(1, 1);
  const NodeAttributes attributes(node, {"auto_pad", "ceil_mode", "dilations", "kernel_shape",
                                         "pads", "storage_order", "strides"});
  attributes.require_integer("storage_order", 0);
  const RealTensor input = graph.without_pads(node, graph.tensor(node, 0, Axes::kNchw));
  const PoolWindow pool = read_pool(node, attributes, graph.shape(input));
  graph.define_layer(node, MaxPool{pool.window}, {input}, pool.shape, Axes::kNchw);
}

void import_real_global_max_pool(const NodeReader& node, RealBuilder& graph) {
  node.require_inputs(1, 1);
  const NodeAttributes attributes(node, {});
  const RealTensor input = graph.without_pads(node, graph.tensor(node, 0, Axes::kNchw));
  const PoolWindow pool = global_pool(graph.shape(input));
  graph.define_layer(node, MaxPool{pool.window}, {input}, pool.shape, Axes::kNchw);
}

void import_real_average_pool(const NodeReader& node, RealBuilder& graph) {
  node.require_inputs(1, 1);
  const NodeAttributes attributes(node, {"auto_pad", "ceil_mode", "count_include_pad", "dilations",
                                         "kernel_shape", "pads", "strides"});
  RealTensor input = graph.tensor(node, 0, Axes::kNchw);
  const PoolWindow read = read_average_pool(node, attributes, graph.shape(input));
  AveragePool pool{read.window, attributes.integer("count_include_pad", 0) != 0};
  if (take_pads(pool.window, pool.count_include_pad, input.pads)) input.pads = {};
  graph.define_layer(node, pool, {graph.without_pads(node, input)}, read.shape, Axes::kNchw);
}

void import_real_global_average_pool(const NodeReader& node, RealBuilder& graph) {
  node.require_inputs(1, 1);
  const NodeAttributes attributes(node, {});
  const RealTensor input = graph.without_pads(node, graph.tensor(node, 0, Axes::kNchw));
  const PoolWindow pool = global_pool(graph.shape(input));
  graph.define_layer(node, AveragePool{pool.window}, {input}, pool.shape, Axes::kNchw);
}

void import_real_reduce_mean(const NodeReader& node, RealBuilder& graph) {
  reduce<AveragePool>(node, graph);
}

void import_real_reduce_max(const NodeReader& node, RealBuilder& graph) {
  reduce<MaxPool>(node, graph);
}

}  // namespace qsim::formats
