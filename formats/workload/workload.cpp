#include "formats/workload/workload.h"

#include <cmath>

#include "core/base/printable.h"
#include "core/network/graph_order.h"
#include "core/network/graph_shapes.h"
#include "core/network/layer_arithmetic.h"
#include "formats/settings/graph_words.h"
#include "formats/workload/synthetic_tensors.h"
#include "formats/workload/workload_shapes.h"

namespace qsim::formats {
namespace {

// Appends one layer after another to a graph, and follows the distribution of the values.
class WorkloadBuilder {
 public:
  WorkloadBuilder(const WorkloadSpec& spec, Tensors tensors)
      : tensors_(tensors), random_(spec.seed), values_{triangular(spec.input)} {
    workload_.graph.name = spec.name;
    workload_.graph.input_value() = spec.input;
    is_dyadic_ = spec.is_dyadic;
    Random input_random(random_.next());  // so that the batch does not change the weights
    workload_.input = tensors == Tensors::kDrawn
                          ? synthetic_input(spec.input, input_random)
                          : shape_alone(spec.input.dtype, spec.input.shape.nhwc());
  }

  void add(const LayerSpec& spec, LayerShapes shapes) {
    if (keeps_scale(spec.kind)) {
      shapes.output.scale = workload_.graph.tensors[shapes.inputs[0]].scale;
    }
    const Distribution& values = values_[shapes.inputs[0]];
    switch (spec.kind) {
      case LayerKind::kConv2d:
        return add_conv2d(spec, shapes);
      case LayerKind::kFullyConnected:
        return add_fully_connected(spec, shapes);
      case LayerKind::kMaxPool:
        return append(spec, MaxPool{spec.window}, shapes,
                      largest(values, spec.window.kernel_h * spec.window.kernel_w));
      case LayerKind::kRelu:
        return append(spec, Relu{}, shapes, rectified(values, shapes.output.zero_point));
      case LayerKind::kFlatten:
        return append(spec, Flatten{spec.order}, shapes, values);
      case LayerKind::kAveragePool:
        return add_average_pool(spec, shapes);
      case LayerKind::kAdd:
        return add_addition(spec, shapes);
      case LayerKind::kConcat:
        require_alike(spec, shapes.inputs);
        return append(spec, Concat{}, shapes, mixed(shapes));
    }
  }

  Workload take() {
    validate(workload_.graph);
    return std::move(workload_);
  }

 private:
  // Whether a layer's ofmap has the scale of what it reads.
  static bool keeps_scale(LayerKind kind) {
    return kind == LayerKind::kMaxPool || kind == LayerKind::kRelu || kind == LayerKind::kFlatten ||
           kind == LayerKind::kConcat;
  }

  // The layer, and the ReLU after it that the file may ask for.
  void append(const LayerSpec& spec, Operation operation, const LayerShapes& shapes,
              const Distribution& ofmap) {
    const Value& output = shapes.output;
    append(spec, spec.name, std::move(operation), shapes.inputs, output, ofmap);
    if (!spec.relu) return;
    append(spec, spec.name + "_relu", Relu{}, {workload_.graph.output}, output,
           rectified(ofmap, output.zero_point));
  }
  void append(const LayerSpec& spec, const std::string& name, Operation operation,
              std::vector<TensorId> inputs, const Value& output, const Distribution& ofmap) {
    qsim::append(workload_.graph, name, std::move(operation), std::move(inputs), output,
                 spec.node.where() + ": " + layer_place(name));
    values_.push_back(ofmap);
  }

  OfmapTarget target_of(const LayerSpec& spec, const Value& output) const {
    OfmapTarget target;
    target.output = output;
    target.relu = spec.relu;
    target.rounding = spec.rounding;
    target.per_channel_shift = spec.per_channel_shift;
    if (is_dyadic_) target.scale_rounding = spec.scale_rounding;
    target.shift = spec.shift;
    target.bias_mean = spec.bias_mean;
    target.balanced_weights = spec.groups == 1;
    return target;
  }

  LayerParameters parameters(const LayerSpec& spec, const LayerShapes& shapes, double inside) {
    Random random(random_.next());  // a layer's tensors do not depend on the others' sizes
    const TensorId input = shapes.inputs[0];
    const Value& value = workload_.graph.tensors[input];
    try {
      return synthetic_parameters(shapes.weights,
                                  {values_[input], value.zero_point, inside, value.scale},
                                  target_of(spec, shapes.output), random, tensors_);
    } catch (const Error& error) {
      spec.node.fail(layer_place(spec.name) + ": " + error.what());
    }
  }

  void add_conv2d(const LayerSpec& spec, const LayerShapes& shapes) {
    const ImageShape& input = workload_.graph.tensors[shapes.inputs[0]].shape;
    const double inside = inside_fraction(spec.window, input, shapes.output.shape);
    LayerParameters made = parameters(spec, shapes, inside);
    append(spec,
           Conv2d{spec.window, std::move(made.weights), std::move(made.bias), made.requantization,
                  spec.groups},
           shapes, made.ofmap);
  }

  void add_fully_connected(const LayerSpec& spec, const LayerShapes& shapes) {
    LayerParameters made = parameters(spec, shapes, 1);
    append(spec, FullyConnected{std::move(made.weights), std::move(made.bias), made.requantization},
           shapes, made.ofmap);
  }

  // Mean and deviation of a tensor's real values.
  struct Moments {
    double mean = 0;
    double sigma = 0;
  };
  Moments moments_of(TensorId id) const {
    const Value& value = workload_.graph.tensors[id];
    const double scale = value.scale.value().real();
    return {scale * (mean(values_[id]) - value.zero_point),
            scale * std::sqrt(variance(values_[id]))};
  }

  // The scale at which `deviations` sigmas around the mean, or above it where a ReLU follows, fit
  // the dtype.
  static Scale fitting_scale(const LayerSpec& spec, const Value& output, const Moments& real,
                             double deviations) {
    const double above = output.max() - output.zero_point;
    const double below = output.zero_point - output.min();
    double scale = above > 0 ? (real.mean + deviations * real.sigma) / above : 0;
    if (!spec.relu && below > 0) {
      scale = std::max(scale, (deviations * real.sigma - real.mean) / below);
    }
    return Scale::of(static_cast<float>(scale)).value_or(*Scale::of(kWorkloadScale));
  }

  // Averages differ less than values. Those of a channel have something in common, which does not
  // average out: a sixth of their deviation.
  void add_average_pool(const LayerSpec& spec, LayerShapes shapes) {
    AveragePool pool{spec.window, spec.count_include_pad, spec.scale_rounding, shapes.output.min(),
                     shapes.output.max()};
    Moments real = moments_of(shapes.inputs[0]);
    const auto count = static_cast<double>(spec.window.kernel_h * spec.window.kernel_w);
    real.sigma *= std::sqrt(1 / count + 1.0 / 36);
    shapes.output.scale = fitting_scale(spec, shapes.output, real, 4);
    const double scale = shapes.output.scale->real();
    append(spec, pool, shapes,
           normal(shapes.output, shapes.output.zero_point + real.mean / scale, real.sigma / scale));
  }

  void add_addition(const LayerSpec& spec, LayerShapes shapes) {
    const Add add{spec.scale_rounding, shapes.output.min(), shapes.output.max()};
    const TensorId a = shapes.inputs[0];
    const TensorId b = shapes.inputs[1];
    const Moments first = moments_of(a);
    const Moments second = moments_of(b);
    const Moments real{first.mean + second.mean, std::hypot(first.sigma, second.sigma)};
    shapes.output.scale = fitting_scale(spec, shapes.output, real, 3);
    Add predicted = add;  // TensorFlow Lite's sums are as good as exact for a distribution
    if (is_tflite(add.rounding)) predicted.rounding = RequantizerRounding::kHalfEven;
    const auto adder =
        adder_of(predicted, workload_.graph.tensors[a], workload_.graph.tensors[b], shapes.output);
    append(spec, add, shapes,
           adder ? sum(values_[a], values_[b], *adder, shapes.output) : Distribution{});
  }

  // A concatenation copies bytes, so they must mean the same in all operands.
  void require_alike(const LayerSpec& spec, const std::vector<TensorId>& operands) const {
    const Value& first = workload_.graph.tensors[operands[0]];
    for (const TensorId id : operands) {
      const Value& other = workload_.graph.tensors[id];
      if (other.dtype == first.dtype && other.zero_point == first.zero_point &&
          other.scale == first.scale) {
        continue;
      }
      spec.node.fail(layer_place(spec.name) + ": operand " + quantization_text(id) +
                     ", the first operand " + quantization_text(operands[0]) +
                     "; all operands of a concat have one dtype, zero_point and scale");
    }
  }

  // "'add1' has int8, zero_point 0, scale 0.05"
  std::string quantization_text(TensorId id) const {
    const Value& value = workload_.graph.tensors[id];
    std::string text = "'" + echoed(names_of_tensors(workload_.graph)[id]) + "' has " +
                       std::string(dtype_name(value.dtype)) + ", zero_point " +
                       std::to_string(value.zero_point);
    if (value.scale) text += ", scale " + scale_text(*value.scale);
    return text;
  }

  Distribution mixed(const LayerShapes& shapes) const {
    Distribution mix;
    for (const TensorId id : shapes.inputs) {
      const auto channels = static_cast<double>(workload_.graph.tensors[id].shape.channels);
      mix_in(mix, values_[id], channels / static_cast<double>(shapes.output.shape.channels));
    }
    return mix;
  }

  Tensors tensors_;
  Workload workload_;
  Random random_;
  bool is_dyadic_ = false;
  std::vector<Distribution> values_;  // of each tensor, as predicted
};

}  // namespace

// With the file's name in every error.
Workload load_workload(const std::filesystem::path& path, std::optional<std::int64_t> batch,
                       Tensors tensors) {
  WorkloadSpec spec = read_workload_file(path);
  if (batch) spec.input.shape.batch = *batch;
  try {
    const std::vector<LayerShapes> shapes = workload_shapes(spec);
    if (tensors == Tensors::kDrawn) require_memory_for_tensors(spec, shapes, path.string());
    WorkloadBuilder builder(spec, tensors);
    for (std::size_t i = 0; i < shapes.size(); ++i) builder.add(spec.layers[i], shapes[i]);
    return builder.take();
  } catch (const Error& error) {
    const std::string message = error.what();
    if (message.starts_with(printable(path.string()))) throw;
    throw Error(error.code(), path.string() + ": " + message);
  }
}

}  // namespace qsim::formats
