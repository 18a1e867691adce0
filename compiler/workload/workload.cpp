#include "compiler/workload/workload.h"

#include "compiler/workload/synthetic_tensors.h"
#include "compiler/workload/workload_shapes.h"
#include "core/graph_shapes.h"
#include "core/printable.h"

namespace qsim {
namespace {

// Whether tensors are drawn, or have their shapes alone.
enum class Tensors : std::uint8_t { kDrawn, kShapes };

// Appends one layer after another to a graph, and follows the distribution of the values.
class WorkloadBuilder {
 public:
  WorkloadBuilder(const WorkloadSpec& spec, Tensors tensors)
      : tensors_(tensors), random_(spec.seed), last_(spec.input), values_(triangular(spec.input)) {
    workload_.graph.name = spec.name;
    workload_.graph.input_value() = spec.input;
    if (tensors == Tensors::kShapes) return;
    Random input_random(random_.next());  // so that the batch does not change the weights
    workload_.input = synthetic_input(spec.input, input_random);
  }

  void add(const LayerSpec& spec, const LayerShapes& shapes) {
    switch (spec.kind) {
      case LayerKind::kConv2d:
        return add_conv2d(spec, shapes);
      case LayerKind::kFullyConnected:
        return add_fully_connected(spec, shapes);
      case LayerKind::kMaxPool:
        if (tensors_ == Tensors::kDrawn) {
          values_ = largest(values_, spec.window.kernel_h * spec.window.kernel_w);
        }
        return append(spec, MaxPool{spec.window}, shapes.output);
      case LayerKind::kRelu:
        return add_relu(spec, spec.name);
      case LayerKind::kFlatten:
        return append(spec, Flatten{spec.order}, shapes.output);
    }
  }

  Workload take() {
    validate(workload_.graph);
    return std::move(workload_);
  }

 private:
  void append(const LayerSpec& spec, Operation operation, const Value& output) {
    append(spec, spec.name, std::move(operation), output);
  }
  void append(const LayerSpec& spec, const std::string& name, Operation operation,
              const Value& output) {
    qsim::append(workload_.graph, name, std::move(operation), output,
                 spec.node.where() + ": " + layer_place(name));
    last_ = output;
  }

  static OfmapTarget target_of(const LayerSpec& spec, const Value& output) {
    OfmapTarget target;
    target.output = output;
    target.relu = spec.relu;
    target.rounding = spec.rounding;
    target.per_channel_shift = spec.per_channel_shift;
    target.shift = spec.shift;
    target.bias_mean = spec.bias_mean;
    return target;
  }

  // What drawn tensors would decide is as it is by default: times do not depend on it.
  LayerParameters shapes_alone(const LayerSpec& spec, const LayerShapes& shapes) const {
    return {shape_alone(DType::kInt8, shapes.weights),
            shape_alone(DType::kInt32, {shapes.weights[0]}),
            {.rounding = spec.rounding,
             .shifts = {0},
             .lo = shapes.output.min(),
             .hi = shapes.output.max()},
            values_};
  }

  LayerParameters parameters(const LayerSpec& spec, const LayerShapes& shapes, double inside) {
    if (tensors_ == Tensors::kShapes) return shapes_alone(spec, shapes);
    Random random(random_.next());  // a layer's tensors do not depend on the others' sizes
    try {
      return synthetic_parameters(shapes.weights, {values_, last_.zero_point, inside},
                                  target_of(spec, shapes.output), random);
    } catch (const Error& error) {
      spec.node.fail(layer_place(spec.name) + ": " + error.what());
    }
  }

  void add_conv2d(const LayerSpec& spec, const LayerShapes& shapes) {
    const double inside = inside_fraction(spec.window, last_.shape, shapes.output.shape);
    LayerParameters made = parameters(spec, shapes, inside);
    append(spec,
           Conv2d{spec.window, std::move(made.weights), std::move(made.bias), made.requantization},
           shapes.output);
    finish(spec, made.ofmap);
  }

  void add_fully_connected(const LayerSpec& spec, const LayerShapes& shapes) {
    LayerParameters made = parameters(spec, shapes, 1);
    append(spec, FullyConnected{std::move(made.weights), std::move(made.bias), made.requantization},
           shapes.output);
    finish(spec, made.ofmap);
  }

  void finish(const LayerSpec& spec, const Distribution& ofmap) {
    values_ = ofmap;
    if (spec.relu) add_relu(spec, spec.name + "_relu");
  }

  void add_relu(const LayerSpec& spec, const std::string& name) {
    if (tensors_ == Tensors::kDrawn) values_ = rectified(values_, last_.zero_point);
    append(spec, name, Relu{}, last_);
  }

  Tensors tensors_;
  Workload workload_;
  Random random_;
  Value last_;           // what the next layer reads
  Distribution values_;  // and its predicted values
};

// With the file's name in every error.
Workload load(const std::filesystem::path& path, std::optional<std::int64_t> batch,
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

}  // namespace

Workload load_workload(const std::filesystem::path& path, std::optional<std::int64_t> batch) {
  return load(path, batch, Tensors::kDrawn);
}

Graph load_workload_shapes(const std::filesystem::path& path, std::optional<std::int64_t> batch) {
  return load(path, batch, Tensors::kShapes).graph;
}

}  // namespace qsim
