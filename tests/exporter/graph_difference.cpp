#include "tests/exporter/graph_difference.h"

namespace qsim {
namespace {

bool same(const Requantization& a, const Requantization& b) {
  return a.rounding == b.rounding && a.shifts == b.shifts && a.lo == b.lo && a.hi == b.hi &&
         a.requantizers == b.requantizers;
}

bool same(const Conv2d& a, const Conv2d& b) {
  return a.window == b.window && a.weights == b.weights && a.bias == b.bias &&
         a.groups == b.groups && same(a.requantization, b.requantization);
}

bool same(const FullyConnected& a, const FullyConnected& b) {
  return a.weights == b.weights && a.bias == b.bias && same(a.requantization, b.requantization);
}

bool same(const MaxPool& a, const MaxPool& b) { return a.window == b.window; }

bool same(const AveragePool& a, const AveragePool& b) {
  return a.window == b.window && a.count_include_pad == b.count_include_pad &&
         a.rounding == b.rounding && a.lo == b.lo && a.hi == b.hi;
}

bool same(const Add& a, const Add& b) {
  return a.rounding == b.rounding && a.lo == b.lo && a.hi == b.hi;
}

bool same(const LookupTable& a, const LookupTable& b) {
  return a.function == b.function && a.bytes == b.bytes;
}

bool same(const Activation& a, const Activation& b) {
  return a.kind == b.kind && a.alpha == b.alpha && a.beta == b.beta && a.lo == b.lo && a.hi == b.hi;
}

bool same(const PRelu& a, const PRelu& b) { return a.slopes == b.slopes; }
bool same(const Flatten& a, const Flatten& b) { return a.order == b.order; }
bool same(const Relu&, const Relu&) { return true; }
bool same(const Concat&, const Concat&) { return true; }

bool same_operation(const Operation& a, const Operation& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&](const auto& operation) {
        return same(operation, std::get<std::decay_t<decltype(operation)>>(b));
      },
      a);
}

bool same(const HostTail& a, const HostTail& b) {
  return a.softmax == b.softmax && a.softmax_levels == b.softmax_levels && a.arg_max == b.arg_max &&
         a.arg_max_keeps_axis == b.arg_max_keeps_axis;
}

bool same(const HostInterface& a, const HostInterface& b) {
  return a.layout == b.layout && a.float_input == b.float_input &&
         a.float_output == b.float_output && a.flat_output == b.flat_output && same(a.tail, b.tail);
}

std::string names_of(const Graph& graph) {
  std::string names;
  for (const Layer& layer : graph.layers) names += " " + layer.name;
  return names;
}

}  // namespace

std::string graph_difference(const Graph& a, const Graph& b) {
  if (a.name != b.name) return "name '" + a.name + "' and '" + b.name + "'";
  if (!same(a.host, b.host)) return "host interface";
  if (a.layers.size() != b.layers.size()) {
    return "layers" + names_of(a) + " and" + names_of(b);
  }
  for (std::size_t i = 0; i < a.layers.size(); ++i) {
    const Layer& x = a.layers[i];
    const Layer& y = b.layers[i];
    if (x.name != y.name) return "names of layers '" + x.name + "' and '" + y.name + "'";
    if (x.inputs != y.inputs || x.output != y.output) return "tensors of layer '" + x.name + "'";
    if (!same_operation(x.operation, y.operation)) return "operation of layer '" + x.name + "'";
  }
  if (a.input != b.input || a.output != b.output) return "input or output";
  for (std::size_t id = 0; id < std::max(a.tensors.size(), b.tensors.size()); ++id) {
    if (id >= a.tensors.size() || id >= b.tensors.size() || !(a.tensors[id] == b.tensors[id])) {
      return "tensor " + std::to_string(id);
    }
  }
  return "";
}

}  // namespace qsim
