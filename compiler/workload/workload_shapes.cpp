#include "compiler/workload/workload_shapes.h"

#include "compiler/workload/synthetic_tensors.h"
#include "core/checked_math.h"
#include "core/limits.h"
#include "core/printable.h"
#include "files/memory.h"

namespace qsim {
namespace {

ImageShape window_shape(const LayerSpec& spec, const ImageShape& in, std::int64_t channels) {
  const Window& w = spec.window;
  const ImageShape out{
      in.batch,
      window_count(in.height, w.kernel_h, w.stride_h, w.pad_top, w.pad_bottom, spec.ceil_mode),
      window_count(in.width, w.kernel_w, w.stride_w, w.pad_left, w.pad_right, spec.ceil_mode),
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

Value weighted_output(const LayerSpec& spec, const Value& input, const ImageShape& shape) {
  const Value output{shape, spec.dtype.value_or(input.dtype), spec.zero_point.value_or(0),
                     std::nullopt};
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
  const ImageShape shape = window_shape(spec, input.shape, spec.out_channels);
  return {weighted_output(spec, input, shape),
          {spec.out_channels, w.kernel_h, w.kernel_w, input.shape.channels}};
}

LayerShapes fully_connected_shapes(const LayerSpec& spec, const Value& input) {
  const ImageShape& in = input.shape;
  if (in.height != 1 || in.width != 1) {
    spec.node.fail("layer '" + echoed(spec.name) + "' reads a picture " + shape_text(in.nhwc()) +
                   "; put a flatten before it");
  }
  return {weighted_output(spec, input, {in.batch, 1, 1, spec.out_channels}),
          {spec.out_channels, in.channels}};
}

LayerShapes shapes_of(const LayerSpec& spec, const Value& input) {
  LayerShapes shapes{input, {}};
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
  }
  return shapes;
}

// A bias, of 4 bytes, for each output channel's weights.
std::int64_t parameter_bytes(const Shape& weights) {
  return weights.empty() ? 0 : element_count(weights) + 4 * weights[0];
}

}  // namespace

std::vector<LayerShapes> workload_shapes(const WorkloadSpec& spec) {
  check_synthetic_elems(element_count(spec.input.shape.nhwc()), "input elements");
  std::vector<LayerShapes> layers;
  for (const LayerSpec& layer : spec.layers) {
    layers.push_back(shapes_of(layer, layers.empty() ? spec.input : layers.back().output));
    const Shape& weights = layers.back().weights;
    if (!weights.empty()) check_synthetic_elems(element_count(weights), "weights");
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

}  // namespace qsim
