// Functions of one number.
#include <algorithm>
#include <limits>

#include "formats/onnx/importer/clip_bounds.h"
#include "formats/onnx/importer/prelu_slopes.h"
#include "formats/onnx/importer/real/real_constants.h"
#include "formats/onnx/importer/real/real_operators.h"

namespace qsim::formats {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

void define_function(const NodeReader& node, RealBuilder& graph, const RealTensor& input,
                     const Activation& function) {
  const RealTensor read = graph.without_pads(node, input);
  graph.define_layer(node, function, {read}, graph.shape(read), read.axes);
}

void define_clip(const NodeReader& node, RealBuilder& graph, const RealTensor& input, float low,
                 float high) {
  if (low == -kInfinity && high == kInfinity) return graph.define(node, input);
  if (low == 0 && high == kInfinity) {
    return define_function(node, graph, input, {Activation::Kind::kRelu});
  }
  // Where the bounds are exchanged, ONNX gives the upper one.
  define_function(node, graph, input,
                  {.kind = Activation::Kind::kClip, .lo = std::min(low, high), .hi = high});
}

// The number of Min or Max beside a tensor, and the tensor.
struct Bound {
  RealTensor tensor;
  float number;
};

Bound read_bound(const NodeReader& node, const RealBuilder& graph) {
  node.require_inputs(2, 2);
  const NodeAttributes attributes(node, {});
  const int constant = graph.find(node, 1) == nullptr ? 1 : 0;
  if (graph.find(node, constant) != nullptr) {
    node.refuse("compares two tensors", "a tensor and one number");
  }
  const RealTensor tensor = graph.tensor(node, 1 - constant);
  const Tensor bound = real_constant(node, constant, "bound");
  if (bound.elems() != 1) {
    node.refuse("bound has shape " + shape_text(bound.shape), "a tensor and one number");
  }
  return {tensor, bound.as<float>()[0]};
}

}  // namespace

void import_real_relu(const NodeReader& node, RealBuilder& graph) {
  node.require_inputs(1, 1);
  const NodeAttributes attributes(node, {});
  define_function(node, graph, graph.tensor(node, 0), {Activation::Kind::kRelu});
}

void import_real_clip(const NodeReader& node, RealBuilder& graph) {
  const auto [low, high] = read_clip(node);
  define_clip(node, graph, graph.tensor(node, 0), low, high);
}

void import_real_min(const NodeReader& node, RealBuilder& graph) {
  const Bound bound = read_bound(node, graph);
  define_clip(node, graph, bound.tensor, -kInfinity, bound.number);
}

void import_real_max(const NodeReader& node, RealBuilder& graph) {
  const Bound bound = read_bound(node, graph);
  define_clip(node, graph, bound.tensor, bound.number, kInfinity);
}

void import_real_leaky_relu(const NodeReader& node, RealBuilder& graph) {
  node.require_inputs(1, 1);
  const float alpha = NodeAttributes(node, {"alpha"}).real("alpha", 0.01F);
  define_function(node, graph, graph.tensor(node, 0),
                  {.kind = Activation::Kind::kLeakyRelu, .alpha = alpha});
}

void import_real_p_relu(const NodeReader& node, RealBuilder& graph) {
  node.require_inputs(2, 2);
  const NodeAttributes attributes(node, {});
  const RealTensor input = graph.without_pads(node, graph.tensor(node, 0));
  const ImageShape shape = graph.shape(input);
  Tensor slopes = prelu_slopes(node, real_constant(node, 1, "slope"), input.axes, shape.channels);
  if (slopes.elems() == 1) {
    const float alpha = slopes.as<float>()[0];
    return define_function(node, graph, input,
                           {.kind = Activation::Kind::kLeakyRelu, .alpha = alpha});
  }
  graph.define_layer(node, PRelu{std::move(slopes)}, {input}, shape, input.axes);
}

void import_real_sigmoid(const NodeReader& node, RealBuilder& graph) {
  node.require_inputs(1, 1);
  const NodeAttributes attributes(node, {});
  define_function(node, graph, graph.tensor(node, 0), {Activation::Kind::kSigmoid});
}

void import_real_hard_sigmoid(const NodeReader& node, RealBuilder& graph) {
  node.require_inputs(1, 1);
  const NodeAttributes attributes(node, {"alpha", "beta"});
  define_function(node, graph, graph.tensor(node, 0),
                  {.kind = Activation::Kind::kHardSigmoid,
                   .alpha = attributes.real("alpha", 0.2F),
                   .beta = attributes.real("beta", 0.5F)});
}

void import_real_hard_swish(const NodeReader& node, RealBuilder& graph) {
  node.require_inputs(1, 1);
  const NodeAttributes attributes(node, {});
  define_function(node, graph, graph.tensor(node, 0), {Activation::Kind::kHardSwish});
}

}  // namespace qsim::formats
