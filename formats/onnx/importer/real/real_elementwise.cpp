// Batch normalization, sums and products: of a tensor and a constant by channel, and of tensors.
#include <cmath>

#include "core/base/checked_math.h"
#include "formats/onnx/importer/real/real_constants.h"
#include "formats/onnx/importer/real/real_operators.h"

namespace qsim::formats {
namespace {

// Which of two inputs the graph computes, where the other is a constant; -1 where it computes both.
int computed_operand(const NodeReader& node, const RealBuilder& graph) {
  node.require_inputs(2, 2);
  const NodeAttributes attributes(node, {});
  for (const int index : {0, 1}) {
    if (graph.find(node, 1 - index) == nullptr && node.has_input(1 - index)) return index;
  }
  return -1;
}

std::vector<double> constant_operand(const NodeReader& node, const RealBuilder& graph, int index,
                                     const RealTensor& tensor) {
  return repeated_constant(node, index, index == 0 ? "A" : "B", rank_of(tensor.axes),
                           channel_axis(tensor.axes), graph.shape(tensor).channels);
}

// Defines `scale(c)` * tensor + `shift(c)` of a constant c beside the tensor at input `computed`.
template <typename Scale, typename Shift>
void define_with_constant(const NodeReader& node, RealBuilder& graph, int computed, Scale scale,
                          Shift shift) {
  const RealTensor input = graph.tensor(node, computed);
  ChannelMap map;
  for (const double constant : constant_operand(node, graph, 1 - computed, input)) {
    map.scale.push_back(scale(constant));
    map.shift.push_back(shift(constant));
  }
  graph.define_map(node, input, std::move(map));
}

void require_equal_shapes(const NodeReader& node, const RealBuilder& graph, const RealTensor& a,
                          const RealTensor& b) {
  if (a.axes == b.axes && graph.shape(a) == graph.shape(b)) return;
  node.refuse("reads tensors " + shape_with_axes(graph.shape(a), a.axes) + " and " +
                  shape_with_axes(graph.shape(b), b.axes),
              "two tensors of equal shape");
}

// Whether `b` is max(0, min(1, a / 6 + 1 / 2)).
bool is_hard_sigmoid_of(const RealBuilder& graph, const RealTensor& a, const RealTensor& b) {
  const Layer* layer = graph.writer_of(b);
  if (layer == nullptr || layer->inputs[0] != a.id || a.pads != Pads{} || b.pads != Pads{}) {
    return false;
  }
  const auto* function = std::get_if<Activation>(&layer->operation);
  return function != nullptr && function->kind == Activation::Kind::kHardSigmoid &&
         function->alpha == 1.0F / 6.0F && function->beta == 0.5F;
}

void define_product(const NodeReader& node, RealBuilder& graph) {
  RealTensor a = graph.tensor(node, 0);
  RealTensor b = graph.tensor(node, 1);
  if (is_hard_sigmoid_of(graph, b, a)) std::swap(a, b);
  if (!is_hard_sigmoid_of(graph, a, b)) {
    node.refuse("multiplies two tensors",
                "a tensor and a constant by channel, or its HardSigmoid, as in HardSwish");
  }
  graph.define_layer(node, Activation{.kind = Activation::Kind::kHardSwish}, {a}, graph.shape(a),
                     a.axes);
}

}  // namespace

void import_batch_normalization(const NodeReader& node, RealBuilder& graph) {
  node.require_inputs(5, 5);
  const NodeAttributes attributes(node, {"epsilon", "momentum", "training_mode"});
  attributes.require_integer("training_mode", 0);
  RealTensor input = graph.tensor(node, 0);
  if (input.axes == Axes::kNhwc) input = graph.tensor(node, 0, Axes::kNchw);  // refuses it
  const std::int64_t channels = graph.shape(input).channels;
  const std::vector<double> gamma = channel_constant(node, 1, "scale", channels);
  const std::vector<double> beta = channel_constant(node, 2, "B", channels);
  const std::vector<double> mean = channel_constant(node, 3, "input_mean", channels);
  const std::vector<double> variance = channel_constant(node, 4, "input_var", channels);
  const auto epsilon = static_cast<double>(attributes.real("epsilon", 1e-5F));
  ChannelMap map;
  for (std::size_t c = 0; c < gamma.size(); ++c) {
    const double widened = variance[c] + epsilon;
    if (!(widened > 0)) {
      node.malformed(
          "input_var + epsilon of channel " + std::to_string(c) + " = " + std::to_string(widened),
          "a positive number");
    }
    map.scale.push_back(gamma[c] / std::sqrt(widened));
    map.shift.push_back(beta[c] - mean[c] * map.scale[c]);
  }
  graph.define_map(node, input, std::move(map));
}

void import_real_add(const NodeReader& node, RealBuilder& graph) {
  const int computed = computed_operand(node, graph);
  if (computed >= 0) {
    return define_with_constant(
        node, graph, computed, [](double) { return 1.0; }, [](double c) { return c; });
  }
  const RealTensor a = graph.tensor(node, 0);
  const RealTensor b = graph.tensor(node, 1);
  require_equal_shapes(node, graph, a, b);
  graph.define_layer(node, Add{}, {graph.without_pads(node, a), graph.without_pads(node, b)},
                     graph.shape(a), a.axes);
}

void import_real_sub(const NodeReader& node, RealBuilder& graph) {
  const int computed = computed_operand(node, graph);
  if (computed < 0) node.refuse("subtracts two tensors", "a tensor and a constant by channel");
  const double sign = computed == 0 ? 1.0 : -1.0;
  define_with_constant(
      node, graph, computed, [=](double) { return sign; }, [=](double c) { return -sign * c; });
}

void import_real_mul(const NodeReader& node, RealBuilder& graph) {
  const int computed = computed_operand(node, graph);
  if (computed < 0) return define_product(node, graph);
  define_with_constant(
      node, graph, computed, [](double c) { return c; }, [](double) { return 0.0; });
}

void import_real_div(const NodeReader& node, RealBuilder& graph) {
  if (computed_operand(node, graph) != 0) {
    node.refuse("divides by a tensor", "a tensor divided by a constant by channel");
  }
  define_with_constant(
      node, graph, 0,
      [&](double c) {
        if (c == 0) node.malformed("divides by 0", "other numbers");
        return 1.0 / c;
      },
      [](double) { return 0.0; });
}

void import_real_concat(const NodeReader& node, RealBuilder& graph) {
  if (node.inputs() == 0) node.malformed("0 inputs", "1 or more");
  const std::int64_t axis = NodeAttributes(node, {"axis"}).integer("axis", 1);
  std::vector<RealTensor> inputs;
  for (int index = 0; index < node.inputs(); ++index) {
    inputs.push_back(graph.without_pads(node, graph.tensor(node, index)));
  }
  const Axes axes = inputs[0].axes;
  if ((axis < 0 ? axis + rank_of(axes) : axis) != channel_axis(axes)) {
    node.refuse("axis = " + std::to_string(axis) + " of " + axes_name(axes), "the channels' axis");
  }
  const ImageShape first = graph.shape(inputs[0]);
  ImageShape joined = first;
  joined.channels = 0;
  for (const RealTensor& input : inputs) {
    ImageShape shape = graph.shape(input);
    joined.channels = checked_add(joined.channels, shape.channels);
    shape.channels = first.channels;
    if (input.axes == axes && shape == first) continue;
    node.malformed("reads tensors " + shape_with_axes(first, axes) + " and " +
                       shape_with_axes(graph.shape(input), input.axes),
                   "tensors that differ in channels alone");
  }
  if (inputs.size() == 1) return graph.define(node, inputs[0]);
  graph.define_layer(node, Concat{}, inputs, joined, axes);
}

}  // namespace qsim::formats
