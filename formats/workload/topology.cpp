#include "formats/workload/topology.h"

#include "core/base/checked_math.h"
#include "core/base/printable.h"
#include "formats/files/memory.h"
#include "formats/workload/synthetic_tensors.h"

namespace qsim::formats {
namespace {

ImageShape output_shape(const TopologyLayer& layer) {
  const ImageShape& in = layer.input;
  const Window& w = layer.window;
  return {in.batch, window_count(in.height, w.kernel_h, w.stride_h, w.pad_top, w.pad_bottom),
          window_count(in.width, w.kernel_w, w.stride_w, w.pad_left, w.pad_right),
          layer.out_channels};
}

// Judged before a tensor is made.
void require_sizes(const Value& input, const Value& output, const Shape& weights,
                   const std::string& place, Tensors tensors) {
  const std::int64_t inputs = element_count(input.shape.nhwc());
  check_synthetic_elems(inputs, "input elements");
  check_synthetic_elems(element_count(weights), "weights");
  check_synthetic_elems(element_count(output.shape.nhwc()), "ofmap elements");
  if (tensors == Tensors::kShapes) return;
  require_memory(checked_add(checked_mul(kSyntheticInputCopies, inputs), element_count(weights)),
                 place);
}

LayerParameters parameters(const TopologyLayer& layer, const Value& input, const Value& output,
                           const Shape& weights, Random& random, Tensors tensors) {
  const double inside = inside_fraction(layer.window, input.shape, output.shape);
  OfmapTarget target;
  target.output = output;
  return synthetic_parameters(weights, {triangular(input), 0, inside}, target, random, tensors);
}

Operation operation_of(const TopologyLayer& layer, LayerParameters made) {
  if (made.weights.shape.size() == 2) {
    return FullyConnected{std::move(made.weights), std::move(made.bias), made.requantization};
  }
  return Conv2d{layer.window, std::move(made.weights), std::move(made.bias), made.requantization};
}

Workload make_workload(const Topology& topology, std::size_t index, Tensors tensors) {
  const TopologyLayer& layer = topology.layers[index];
  Workload workload;
  workload.graph.name = topology.name;
  workload.graph.input_value().shape = layer.input;
  const Value& input = workload.graph.input_value();
  const Value output{output_shape(layer), input.dtype, 0, std::nullopt};
  const bool is_vector = layer.input.height == 1 && layer.input.width == 1;
  const Window& w = layer.window;
  const Shape weights =
      is_vector ? Shape{layer.out_channels, layer.input.channels}
                : Shape{layer.out_channels, w.kernel_h, w.kernel_w, layer.input.channels};
  require_sizes(input, output, weights, layer.place, tensors);
  Random random(index + 1);
  workload.input = tensors == Tensors::kDrawn ? synthetic_input(input, random)
                                              : shape_alone(input.dtype, input.shape.nhwc());
  LayerParameters made = parameters(layer, input, output, weights, random, tensors);
  append(workload.graph, layer.name, operation_of(layer, std::move(made)), output,
         layer.place + ": " + layer_place(layer.name));
  validate(workload.graph);
  return workload;
}

}  // namespace

Workload layer_workload(const Topology& topology, std::size_t layer, Tensors tensors) {
  const std::string& place = topology.layers[layer].place;
  try {
    return make_workload(topology, layer, tensors);
  } catch (const Error& error) {
    const std::string message = error.what();
    if (message.starts_with(printable(place))) throw;
    throw Error(error.code(), place + ": " + message);
  }
}

}  // namespace qsim::formats
