#include "formats/workload/workload_shapes.h"

#include <map>

#include "core/base/checked_math.h"
#include "core/base/limits.h"
#include "core/base/printable.h"
#include "formats/files/memory.h"
#include "formats/settings/graph_words.h"
#include "formats/workload/synthetic_tensors.h"

namespace qsim::formats {
namespace {

ImageShape window_shape(const LayerSpec& spec, const ImageShape& in, std::int64_t channels) {
  const Window& w = spec.window;
  const ImageShape out{
      in.batch,
      window_count(in.height, w.extent_h(), w.stride_h, w.pad_top, w.pad_bottom, spec.ceil_mode),
      window_count(in.width, w.extent_w(), w.stride_w, w.pad_left, w.pad_right, spec.ceil_mode),
      channels};
  if (out.height < 1 || out.width < 1) {
    spec.node.fail("layer '" + echoed(spec.name) + "': a kernel of " + std::to_string(w.kernel_h) +
                   " x " + std::to_string(w.kernel_w) + " does not fit its padded input, " +
                   shape_text(in.nhwc()));
  }
  if (element_count(out.nhwc()) > kMaxTensorElems) {
    spec.node.fail("layer '" + echoed(spec.name) + "': an ofmap of " + shape_text(out.nhwc()) +
                   "; at most 2^31 elements are allowed");
  }
  return out;
}

Value requantized_output(const LayerSpec& spec, const Value& input, const ImageShape& shape) {
  const Value output{shape, spec.dtype.value_or(input.dtype), spec.zero_point.value_or(0),
                     input.scale ? Scale::of(kWorkloadScale) : std::nullopt};
  if (output.zero_point < output.min() || output.zero_point > output.max()) {
    spec.node.fail("layer '" + echoed(spec.name) + "': zero_point " +
                   std::to_string(output.zero_point) + "; allowed for " +
                   std::string(dtype_name(output.dtype)) + ": " + std::to_string(output.min()) +
                   " to " + std::to_string(output.max()));
  }
  return output;
}

LayerShapes conv2d_shapes(const LayerSpec& spec, const Value& input) {
  const Window& w = spec.window;
  const std::int64_t channels = input.shape.channels;
  if (channels % spec.groups != 0 || spec.out_channels % spec.groups != 0) {
    spec.node.fail(layer_place(spec.name) + ": " + std::to_string(spec.groups) +
                   " groups do not divide " + std::to_string(channels) + " input channels and " +
                   std::to_string(spec.out_channels) + " output channels");
  }
  const ImageShape shape = window_shape(spec, input.shape, spec.out_channels);
  return {requantized_output(spec, input, shape),
          {spec.out_channels, w.kernel_h, w.kernel_w, channels / spec.groups},
          {}};
}

LayerShapes fully_connected_shapes(const LayerSpec& spec, const Value& input) {
  const ImageShape& in = input.shape;
  if (in.height != 1 || in.width != 1) {
    spec.node.fail("layer '" + echoed(spec.name) + "' reads a picture " + shape_text(in.nhwc()) +
                   "; put a flatten before it");
  }
  return {requantized_output(spec, input, {in.batch, 1, 1, spec.out_channels}),
          {spec.out_channels, in.channels},
          {}};
}

[[noreturn]] void refuse_operand(const LayerSpec& spec, const Value& operand,
                                 const ImageShape& expected) {
  spec.node.fail(layer_place(spec.name) + ": reads a tensor " + shape_text(operand.shape.nhwc()) +
                 "; expected " + shape_text(expected.nhwc()));
}

LayerShapes add_shapes(const LayerSpec& spec, const std::vector<Value>& operands) {
  const ImageShape& shape = operands[0].shape;
  if (!(operands[1].shape == shape)) refuse_operand(spec, operands[1], shape);
  return {requantized_output(spec, operands[0], shape), {}, {}};
}

LayerShapes concat_shapes(const LayerSpec& spec, const std::vector<Value>& operands) {
  Value output = operands[0];
  output.shape.channels = 0;
  for (const Value& operand : operands) {
    ImageShape expected = output.shape;
    expected.channels = operand.shape.channels;
    if (!(operand.shape == expected)) refuse_operand(spec, operand, expected);
    output.shape.channels = checked_add(output.shape.channels, expected.channels);
  }
  return {output, {}, {}};
}

void check_operand_count(const LayerSpec& spec, std::size_t count) {
  const bool several = spec.kind == LayerKind::kAdd || spec.kind == LayerKind::kConcat;
  const bool is_concat = spec.kind == LayerKind::kConcat;
  const std::size_t least = several ? 2 : 1;
  if (count == least || (is_concat && count > least)) return;
  spec.node.fail(layer_place(spec.name) + ": reads " + std::to_string(count) + " tensors; " +
                 spec.node.at("op").text() + " reads " + (is_concat ? "at least " : "") +
                 std::to_string(least));
}

LayerShapes shapes_of(const LayerSpec& spec, const std::vector<Value>& operands) {
  check_operand_count(spec, operands.size());
  const Value& input = operands[0];
  LayerShapes shapes{input, {}, {}};
  const ImageShape& in = input.shape;
  switch (spec.kind) {
    case LayerKind::kConv2d:
      return conv2d_shapes(spec, input);
    case LayerKind::kFullyConnected:
      return fully_connected_shapes(spec, input);
    case LayerKind::kMaxPool:
      shapes.output.shape = window_shape(spec, in, in.channels);
      break;
    case LayerKind::kFlatten:
      shapes.output.shape = {in.batch, 1, 1,
                             checked_mul(checked_mul(in.height, in.width), in.channels)};
      break;
    case LayerKind::kRelu:
      break;
    case LayerKind::kAveragePool:
      shapes.output = requantized_output(spec, input, window_shape(spec, in, in.channels));
      break;
    case LayerKind::kAdd:
      return add_shapes(spec, operands);
    case LayerKind::kConcat:
      return concat_shapes(spec, operands);
  }
  return shapes;
}

// The tensors of the graph so far, and their names.
struct NamedTensors {
  std::vector<Value> values;
  std::map<std::string, TensorId> ids;

  void add(const std::string& name, const Value& value) {
    ids.emplace(name, values.size());
    values.push_back(value);
  }
};

std::vector<TensorId> inputs_of(const LayerSpec& spec, const NamedTensors& tensors) {
  if (spec.inputs.empty()) return {tensors.values.size() - 1};
  std::vector<TensorId> inputs;
  for (const std::string& name : spec.inputs) {
    const auto found = tensors.ids.find(name);
    if (found == tensors.ids.end()) {
      spec.node.at("inputs").fail("found '" + echoed(name) +
                                  "'; expected 'input' or the name of a layer before this one");
    }
    inputs.push_back(found->second);
  }
  return inputs;
}

// A bias, of 4 bytes, for each output channel's weights.
std::int64_t parameter_bytes(const Shape& weights) {
  return weights.empty() ? 0 : element_count(weights) + 4 * weights[0];
}

}  // namespace

std::vector<LayerShapes> workload_shapes(const WorkloadSpec& spec) {
  check_synthetic_elems(element_count(spec.input.shape.nhwc()), "input elements");
  std::vector<LayerShapes> layers;
  NamedTensors tensors;
  tensors.add(std::string(kInputName), spec.input);
  for (const LayerSpec& layer : spec.layers) {
    const std::vector<TensorId> inputs = inputs_of(layer, tensors);
    std::vector<Value> operands;
    for (const TensorId input : inputs) operands.push_back(tensors.values[input]);
    layers.push_back(shapes_of(layer, operands));
    layers.back().inputs = inputs;
    const Shape& weights = layers.back().weights;
    if (!weights.empty()) check_synthetic_elems(element_count(weights), "weights");
    tensors.add(layer.name, layers.back().output);
    if (layer.relu) tensors.add(layer.name + "_relu", layers.back().output);
  }
  return layers;
}

void require_memory_for_tensors(const WorkloadSpec& spec, const std::vector<LayerShapes>& layers,
                                const std::string& source) {
  std::int64_t bytes = checked_mul(kSyntheticInputCopies, element_count(spec.input.shape.nhwc()));
  for (const LayerShapes& layer : layers) {
    bytes = checked_add(bytes, parameter_bytes(layer.weights));
  }
  require_memory(bytes, source);
}

}  // namespace qsim::formats
