#include "compiler/workload/workload.h"

#include "compiler/workload/synthetic_tensors.h"
#include "compiler/workload/workload_file.h"
#include "core/checked_math.h"
#include "core/limits.h"

namespace qsim {
namespace {

// Appends one layer after another to a graph, and follows the distribution of the values.
class WorkloadBuilder {
 public:
  explicit WorkloadBuilder(const WorkloadSpec& spec)
      : random_(spec.seed), values_(triangular(spec.input)) {
    workload_.graph.name = spec.name;
    workload_.graph.input = spec.input;
    Random input_random(random_.next());  // so that the batch does not change the weights
    workload_.input = synthetic_input(spec.input, input_random);
    last_ = spec.input;
  }

  void add(const LayerSpec& spec) {
    switch (spec.kind) {
      case LayerKind::kConv2d:
        return add_conv2d(spec);
      case LayerKind::kFullyConnected:
        return add_fully_connected(spec);
      case LayerKind::kMaxPool:
        return add_max_pool(spec);
      case LayerKind::kRelu:
        return add_relu(spec.name);
      case LayerKind::kFlatten:
        return add_flatten(spec);
    }
  }

  Workload take() {
    validate(workload_.graph);
    return std::move(workload_);
  }

 private:
  void append(const std::string& name, Operation operation, const Value& output) {
    workload_.graph.layers.push_back({name, std::move(operation), output});
    last_ = output;
  }

  ImageShape window_shape(const LayerSpec& spec, std::int64_t channels) const {
    const Window& w = spec.window;
    const ImageShape& in = last_.shape;
    const ImageShape out{
        in.batch,
        window_count(in.height, w.kernel_h, w.stride_h, w.pad_top, w.pad_bottom, spec.ceil_mode),
        window_count(in.width, w.kernel_w, w.stride_w, w.pad_left, w.pad_right, spec.ceil_mode),
        channels};
    if (out.height < 1 || out.width < 1) {
      spec.node.fail("layer '" + spec.name + "': a kernel of " + std::to_string(w.kernel_h) +
                     " x " + std::to_string(w.kernel_w) + " does not fit its padded input, " +
                     shape_text(in.nhwc()));
    }
    if (element_count(out.nhwc()) > kMaxTensorElems) {
      spec.node.fail("layer '" + spec.name + "': an ofmap of " + shape_text(out.nhwc()) +
                     "; at most 2^31 elements are allowed");
    }
    return out;
  }

  OfmapTarget target_of(const LayerSpec& spec, const ImageShape& shape) const {
    OfmapTarget target;
    target.output = {shape, spec.dtype.value_or(last_.dtype), spec.zero_point.value_or(0),
                     std::nullopt};
    if (target.output.zero_point < target.output.min() ||
        target.output.zero_point > target.output.max()) {
      spec.node.fail(
          "layer '" + spec.name + "': zero_point " + std::to_string(target.output.zero_point) +
          "; allowed for " + std::string(dtype_name(target.output.dtype)) + ": " +
          std::to_string(target.output.min()) + " to " + std::to_string(target.output.max()));
    }
    target.relu = spec.relu;
    target.rounding = spec.rounding;
    target.per_channel_shift = spec.per_channel_shift;
    target.shift = spec.shift;
    target.bias_mean = spec.bias_mean;
    return target;
  }

  LayerParameters parameters(const Shape& weights, double inside, const OfmapTarget& target) {
    Random random(random_.next());  // a layer's tensors do not depend on the others' sizes
    return synthetic_parameters(weights, {values_, last_.zero_point, inside}, target, random);
  }

  void add_conv2d(const LayerSpec& spec) {
    const ImageShape shape = window_shape(spec, spec.out_channels);
    const OfmapTarget target = target_of(spec, shape);
    const Window& w = spec.window;
    LayerParameters made =
        parameters({spec.out_channels, w.kernel_h, w.kernel_w, last_.shape.channels},
                   inside_fraction(w, last_.shape, shape), target);
    append(spec.name, Conv2d{w, std::move(made.weights), std::move(made.bias), made.requantization},
           target.output);
    finish(spec, made.ofmap);
  }

  void add_fully_connected(const LayerSpec& spec) {
    if (last_.shape.height != 1 || last_.shape.width != 1) {
      spec.node.fail("layer '" + spec.name + "' reads a picture " + shape_text(last_.shape.nhwc()) +
                     "; put a flatten before it");
    }
    const ImageShape shape{last_.shape.batch, 1, 1, spec.out_channels};
    const OfmapTarget target = target_of(spec, shape);
    LayerParameters made = parameters({spec.out_channels, last_.shape.channels}, 1, target);
    append(spec.name,
           FullyConnected{std::move(made.weights), std::move(made.bias), made.requantization},
           target.output);
    finish(spec, made.ofmap);
  }

  void finish(const LayerSpec& spec, const Distribution& ofmap) {
    values_ = ofmap;
    if (spec.relu) add_relu(spec.name + "_relu");
  }

  void add_relu(const std::string& name) {
    values_ = rectified(values_, last_.zero_point);
    append(name, Relu{}, last_);
  }

  void add_max_pool(const LayerSpec& spec) {
    const Window& w = spec.window;
    Value output = last_;
    output.shape = window_shape(spec, last_.shape.channels);
    values_ = largest(values_, w.kernel_h * w.kernel_w);
    append(spec.name, MaxPool{w}, output);
  }

  void add_flatten(const LayerSpec& spec) {
    const ImageShape& in = last_.shape;
    Value output = last_;
    output.shape = {in.batch, 1, 1, checked_mul(checked_mul(in.height, in.width), in.channels)};
    append(spec.name, Flatten{spec.order}, output);
  }

  Workload workload_;
  Random random_;
  Value last_;           // what the next layer reads
  Distribution values_;  // and its predicted values
};

}  // namespace

Workload load_workload(const std::filesystem::path& path, std::optional<std::int64_t> batch) {
  WorkloadSpec spec = read_workload_file(path);
  if (batch) spec.input.shape.batch = *batch;
  try {
    WorkloadBuilder builder(spec);
    for (const LayerSpec& layer : spec.layers) builder.add(layer);
    return builder.take();
  } catch (const Error& error) {
    const std::string message = error.what();
    if (message.starts_with(path.string())) throw;
    throw Error(error.code(), path.string() + ": " + message);
  }
}

}  // namespace qsim
