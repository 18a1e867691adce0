#include "golden/graph/cuda/layer_plan.h"

#include <algorithm>

#include "core/network/operation_checks.h"
#include "golden/graph/cuda/wide_weights.h"

namespace qsim::golden::cuda {
namespace {

// Whether a flatten of `input` leaves every byte where it is.
bool keeps_order(const Flatten& flatten, const Value& input) {
  return flatten.order == Flatten::Order::kHwc || input.shape.channels == 1 ||
         (input.shape.height == 1 && input.shape.width == 1);
}

// A step that reads and writes what layer `index` does.
Step step_of_layer(const Graph& graph, std::size_t index, StepKind kind) {
  Step step;
  step.kind = kind;
  step.layers = {index};
  step.inputs = graph.layers[index].inputs;
  step.output = graph.layers[index].output;
  step.input = graph.input_of(index);
  step.result = graph.output_of(index);
  return step;
}

Step weights_step(const Graph& graph, std::size_t index, const Tensor& weights,
                  const Requantization& requantization) {
  Step step = step_of_layer(graph, index, StepKind::kConv);
  step.weights_layer = index;
  step.ofmap = step.result;
  step.requantization = requantization;
  if (weights.dtype == DType::kInt16) {
    step.weight_parts = weight_parts(weights);
    step.own_weights = split_weights(weights);
  }
  return step;
}

// The step of one layer, by its operation.
struct LoneStep {
  const Graph& graph;
  std::size_t index;

  Step operator()(const Conv2d& conv) const {
    Step step = weights_step(graph, index, conv.weights, conv.requantization);
    step.window = conv.window;
    step.groups = conv.groups;
    return step;
  }
  Step operator()(const FullyConnected& fc) const {
    return weights_step(graph, index, fc.weights, fc.requantization);
  }
  Step operator()(const MaxPool& pool) const {
    Step step = step_of_layer(graph, index, StepKind::kMaxPool);
    step.window = pool.window;
    return step;
  }
  Step operator()(const AveragePool& pool) const {
    Step step = step_of_layer(graph, index, StepKind::kAveragePool);
    step.window = pool.window;
    step.average = pool;
    return step;
  }
  Step operator()(const Flatten& flatten) const {
    Step step = step_of_layer(graph, index, StepKind::kFlatten);
    step.order = flatten.order;
    return step;
  }
  Step operator()(const Add& add) const {
    Step step = step_of_layer(graph, index, StepKind::kAdd);
    step.add = add;
    return step;
  }
  Step operator()(const Relu&) const { return step_of_layer(graph, index, StepKind::kRelu); }
  Step operator()(const Concat&) const { return step_of_layer(graph, index, StepKind::kConcat); }
  Step operator()(const LookupTable&) const {
    return step_of_layer(graph, index, StepKind::kLookupTable);
  }
  Step operator()(const PRelu&) const { return step_of_layer(graph, index, StepKind::kPRelu); }
  Step operator()(const Activation&) const { throw InternalError("reals have no int8 step"); }
};

Step lone_step(const Graph& graph, std::size_t index) {
  return std::visit(LoneStep{graph, index}, graph.layers[index].operation);
}

// weights [Cout][C][H][W] to [Cout][H][W][C]: the order of the picture's bytes in memory.
template <typename T>
void chw_to_hwc(Tensor& weights, const ImageShape& picture) {
  const auto pixels = static_cast<std::size_t>(picture.height * picture.width);
  const auto channels = static_cast<std::size_t>(picture.channels);
  const std::size_t depth = pixels * channels;
  const Tensor from = weights;
  const auto old = from.as<T>();
  const auto permuted = weights.as<T>();
  for (std::size_t row = 0; row < old.size(); row += depth) {
    for (std::size_t c = 0; c < channels; ++c) {
      for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
        permuted[row + pixel * channels + c] = old[row + c * pixels + pixel];
      }
    }
  }
}

// The fully connected layer `index` with the flatten before it: it reads the picture itself.
Step flattened_step(const Graph& graph, std::size_t flatten_index, std::size_t index) {
  const auto& flatten = std::get<Flatten>(graph.layers[flatten_index].operation);
  const Value& picture = graph.input_of(flatten_index);
  Step step = lone_step(graph, index);
  step.layers = {flatten_index, index};
  step.inputs = graph.layers[flatten_index].inputs;
  if (keeps_order(flatten, picture)) return step;
  Tensor weights = std::get<FullyConnected>(graph.layers[index].operation).weights;
  if (weights.dtype == DType::kInt8) {
    chw_to_hwc<std::int8_t>(weights, picture.shape);
  } else {
    chw_to_hwc<std::int16_t>(weights, picture.shape);
  }
  step.own_weights = split_weights(weights);
  return step;
}

// max(clamp(x, lo, hi), zero_point) = clamp(x, max(lo, zero_point), max(hi, zero_point)): hi too,
// or a range below the zero point would end up empty.
template <typename Range>
void raise_to(std::int32_t zero_point, Range& range) {
  range.lo = std::max(range.lo, zero_point);
  range.hi = std::max(range.hi, zero_point);
}

// Folds a ReLU into the step's last clamp; false where it has none.
bool fold_relu(Step& step) {
  if (step.kind == StepKind::kAdd) {
    raise_to(step.result.zero_point, step.add);
  } else if (step.kind != StepKind::kConv) {
    return false;
  } else if (step.addition) {
    raise_to(step.result.zero_point, step.addition->add);
  } else {
    raise_to(step.ofmap.zero_point, step.requantization);  // before a pool or after it
  }
  return true;
}

// The pools that a convolution's kernel takes along: every window lies in whole and alone.
bool pools_pairs(const MaxPool& pool, const Value& input) {
  return pool.window == Window{2, 2, 2, 2} && input.shape.height % 2 == 0 &&
         input.shape.width % 2 == 0;
}

// Whether a convolution's kernel may add another tensor to its ofmap.
bool adds(const Step& step, const Layer& layer, const Add& add) {
  return step.kind == StepKind::kConv && !step.pool && !step.addition &&
         step.result.shape == step.ofmap.shape && layer.inputs[0] != layer.inputs[1] &&
         add.rounding == RequantizerRounding::kFloat32;
}

void fold_add(const Graph& graph, const Layer& layer, const Add& add, Step& step) {
  Addition addition;
  addition.add = add;
  addition.other_is_first = layer.inputs[1] == step.output;
  const TensorId other = layer.inputs[addition.other_is_first ? 0 : 1];
  addition.other = graph.tensors[other];
  addition.sum = graph.tensors[layer.output];
  step.inputs.push_back(other);
  step.addition = addition;
}

// Cuts a graph into steps. A layer joins the step whose output it reads if nobody else reads that.
class Planner {
 public:
  Planner(const Graph& graph, bool fuses)
      : graph_(graph),
        fuses_(fuses),
        readers_(graph.tensors.size(), 0),
        open_(graph.tensors.size()) {
    for (const Layer& layer : graph.layers) {
      for (const TensorId input : layer.inputs) ++readers_[input];
    }
    ++readers_[graph.output];
  }

  std::vector<Step> plan() {
    for (std::size_t i = 0; i < graph_.layers.size(); ++i) {
      if (!join(i)) open(lone_step(graph_, i));
    }
    // A step runs where its last layer is: what it reads has been written by then.
    std::sort(steps_.begin(), steps_.end(),
              [](const Step& a, const Step& b) { return a.last() < b.last(); });
    return std::move(steps_);
  }

 private:
  void open(Step step) {
    open_[step.output] = steps_.size();
    steps_.push_back(std::move(step));
  }

  // The step that writes `tensor`, which one layer alone reads.
  Step* writer(TensorId tensor) {
    return fuses_ && readers_[tensor] == 1 && open_[tensor] ? &steps_[*open_[tensor]] : nullptr;
  }

  bool join(std::size_t index) {
    const Layer& layer = graph_.layers[index];
    // Tries the operand that is written later first: it is more likely to be in a cache.
    std::vector<TensorId> operands = layer.inputs;
    std::sort(operands.rbegin(), operands.rend());
    for (const TensorId operand : operands) {
      Step* step = writer(operand);
      if (step == nullptr || !absorb(*step, index)) continue;
      const std::size_t at = *open_[operand];
      open_[operand].reset();
      open_[layer.output] = at;
      step->output = layer.output;
      step->result = graph_.output_of(index);
      return true;
    }
    return false;
  }

  // Adds layer `index` to the step where its kernel can compute it too.
  bool absorb(Step& step, std::size_t index) {
    const Layer& layer = graph_.layers[index];
    const Value& input = graph_.input_of(index);
    if (const auto* flatten = std::get_if<Flatten>(&layer.operation)) {
      if (!keeps_order(*flatten, input)) return false;  // else the same bytes in another shape
    } else if (std::holds_alternative<Relu>(layer.operation)) {
      if (!fold_relu(step)) return false;
    } else if (const auto* pool = std::get_if<MaxPool>(&layer.operation)) {
      if (step.kind != StepKind::kConv || step.pool || step.addition ||
          !pools_pairs(*pool, input) || step.result.shape != step.ofmap.shape) {
        return false;
      }
      step.pool = true;
    } else if (const auto* add = std::get_if<Add>(&layer.operation)) {
      if (!adds(step, layer, *add)) return false;
      fold_add(graph_, layer, *add, step);
    } else if (std::holds_alternative<FullyConnected>(layer.operation)) {
      if (step.kind != StepKind::kFlatten || step.layers.size() != 1) return false;
      step = flattened_step(graph_, step.first(), index);
      return true;
    } else {
      return false;
    }
    step.layers.push_back(index);
    return true;
  }

  const Graph& graph_;
  bool fuses_;
  std::vector<int> readers_;                      // by tensor; the host reads the output
  std::vector<std::optional<std::size_t>> open_;  // by tensor, the step that writes it
  std::vector<Step> steps_;
};

}  // namespace

std::vector<Step> plan_layers(const Graph& graph, CudaKeep keep) {
  for (const Layer& layer : graph.layers) refuse_tflite_rounding(layer);
  return Planner(graph, keep != CudaKeep::kEvery).plan();
}

}  // namespace qsim::golden::cuda
