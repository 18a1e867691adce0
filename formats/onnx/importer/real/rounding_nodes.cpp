// Nodes of the domain "qsim": what becomes of a tensor in fake quantization.
#include "formats/onnx/importer/real/real_operators.h"

namespace qsim::formats {
namespace {

std::int32_t small_integer(const NodeReader& node, const NodeAttributes& attributes,
                           const char* name) {
  const std::int64_t value = attributes.integer(name, 0);
  if (value < -kMostLevel || value > kMostLevel) {
    node.malformed(std::string(name) + " = " + std::to_string(value),
                   "at most " + std::to_string(kMostLevel) + " from 0");
  }
  return static_cast<std::int32_t>(value);
}

}  // namespace

void import_round_uniform(const NodeReader& node, RealBuilder& graph) {
  node.require_inputs(1, 1);
  const NodeAttributes attributes(node, {"scale", "zero_point", "lo", "hi"});
  graph.define_rounded(
      node,
      UniformRule{attributes.real("scale", 1), small_integer(node, attributes, "zero_point"),
                  small_integer(node, attributes, "lo"), small_integer(node, attributes, "hi")});
}

void import_round_log2(const NodeReader& node, RealBuilder& graph) {
  node.require_inputs(1, 1);
  const NodeAttributes attributes(node, {"scale", "lo", "hi"});
  graph.define_rounded(node,
                       Log2Rule{attributes.real("scale", 1), small_integer(node, attributes, "lo"),
                                small_integer(node, attributes, "hi")});
}

}  // namespace qsim::formats
