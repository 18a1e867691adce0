#include "golden/graph/real/real_executor.h"

#include <algorithm>
#include <mutex>

#include "golden/common/buffer_plan.h"
#include "golden/common/float_environment.h"
#include "golden/graph/real/executor_checks.h"
#include "golden/graph/real/integer_layer.h"
#include "golden/graph/real/real_layer.h"
#include "golden/graph/real/reference_rules.h"

namespace qsim::golden {
namespace {

// What a tensor of `shape` is for another number of pictures.
Shape with_batch(const ImageShape& shape, std::int64_t batch) {
  return {batch, shape.height, shape.width, shape.channels};
}

// Gives `tensor` the shape, and memory for it; what it had is used again.
void fit(Tensor& tensor, const Shape& shape) {
  tensor.dtype = DType::kFloat32;
  tensor.shape = shape;
  tensor.bytes.resize(static_cast<std::size_t>(element_count(shape)) * sizeof(float));
}

}  // namespace

struct RealExecutor::State {
  State(const Graph& real_graph, const RealExecutorOptions& executor_options)
      : graph(real_graph),
        options(executor_options),
        kernels(product_kernels(options.vector_path)) {
    check_executor(graph, options);
    last_reader.resize(graph.tensors.size(), graph.layers.size());
    for (std::size_t i = 0; i < graph.layers.size(); ++i) {
      const Layer& layer = graph.layers[i];
      runners.push_back(runner_of(i));
      for (const TensorId id : layer.inputs) last_reader[id] = i;
      if (last_reader[layer.output] == graph.layers.size()) last_reader[layer.output] = i;
    }
    last_reader[graph.output] = graph.layers.size();
  }

  RealRunner runner_of(std::size_t index) const {
    const Layer& layer = graph.layers[index];
    const auto integers = options.layer_weights.find(index);
    if (integers == options.layer_weights.end()) {
      return options.plain ? make_plain_layer(layer) : make_optimised_layer(layer, kernels);
    }
    return options.plain ? make_plain_integer_layer(layer, integers->second)
                         : make_optimised_integer_layer(layer, integers->second, kernels);
  }

  void apply_rule(TensorId id, Tensor& tensor, ThreadTeam& team) const {
    if (options.rules.empty() || !options.rules[id]) return;
    options.plain ? reference_rule(*options.rules[id], tensor)
                  : apply(*options.rules[id], tensor, team);
  }

  const Graph& graph;
  RealExecutorOptions options;
  const ProductKernels& kernels;
  std::vector<RealRunner> runners;
  // By tensor, the layer after which it is freed: its last reader, or the one that writes it; of
  // the graph's output none.
  std::vector<std::size_t> last_reader;
  // What runs have left, so that the next ones need no new memory; one list a run at the same time.
  mutable std::mutex mutex;
  mutable std::vector<std::vector<Tensor>> left;
};

namespace {

// Tensors of no use, whose memory is.
class SpareTensors {
 public:
  SpareTensors(std::mutex& mutex, std::vector<std::vector<Tensor>>& left)
      : mutex_(mutex), left_(left) {
    const std::lock_guard lock(mutex_);
    if (left_.empty()) return;
    tensors_ = std::move(left_.back());
    left_.pop_back();
  }
  ~SpareTensors() {
    const std::lock_guard lock(mutex_);
    left_.push_back(std::move(tensors_));
  }
  SpareTensors(const SpareTensors&) = delete;
  SpareTensors& operator=(const SpareTensors&) = delete;

  void add(Tensor tensor) { tensors_.push_back(std::move(tensor)); }

  // One of the shape: the smallest that has room, else the largest.
  Tensor take(const Shape& shape) {
    const auto bytes = static_cast<std::size_t>(element_count(shape)) * sizeof(float);
    const auto is_better = [bytes](const Tensor& a, const Tensor& b) {
      const std::size_t x = a.bytes.capacity();
      const std::size_t y = b.bytes.capacity();
      if ((x >= bytes) != (y >= bytes)) return x >= bytes;
      return x >= bytes ? x < y : x > y;
    };
    const auto best = std::min_element(tensors_.begin(), tensors_.end(), is_better);
    Tensor tensor;
    if (best != tensors_.end()) {
      tensor = std::move(*best);
      tensors_.erase(best);
    }
    fit(tensor, shape);
    return tensor;
  }

 private:
  std::mutex& mutex_;
  std::vector<std::vector<Tensor>>& left_;
  std::vector<Tensor> tensors_;
};

}  // namespace

RealExecutorOptions executor_options(const HybridNetwork& network) {
  RealExecutorOptions options;
  options.rules = network.rules;
  if (mode_of(network) != HybridMode::kFake) options.layer_weights = network.weights;
  return options;
}

RealExecutor::RealExecutor(const Graph& graph, const RealExecutorOptions& options)
    : state_(std::make_unique<State>(graph, options)) {}

RealExecutor::~RealExecutor() = default;

Tensor RealExecutor::run(const Tensor& input, ThreadTeam& team, const OnTensor& on_tensor) const {
  const Graph& graph = state_->graph;
  check_input(graph, input);
  const FloatEnvironment environment;
  std::vector<Tensor> tensors(graph.tensors.size());
  SpareTensors spare(state_->mutex, state_->left);
  tensors[graph.input] = spare.take(input.shape);
  std::copy(input.bytes.begin(), input.bytes.end(), tensors[graph.input].bytes.begin());
  state_->apply_rule(graph.input, tensors[graph.input], team);
  if (on_tensor) on_tensor(graph.input, tensors[graph.input]);
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    const Layer& layer = graph.layers[i];
    const RealLayerRunner& runner = *state_->runners[i];
    Tensor& output = tensors[layer.output];
    const bool in_place = runner.in_place() && state_->last_reader[layer.inputs[0]] == i;
    if (!in_place)
      output = spare.take(with_batch(graph.tensors[layer.output].shape, input.shape[0]));
    std::vector<const Tensor*> operands;
    for (const TensorId id : layer.inputs) operands.push_back(&tensors[id]);
    if (in_place) {
      output = std::move(tensors[layer.inputs[0]]);
      operands[0] = &output;
    }
    runner.run(operands, output, team);
    state_->apply_rule(layer.output, output, team);
    if (on_tensor) on_tensor(layer.output, output);
    for (TensorId id = 0; id < tensors.size(); ++id) {
      if (state_->last_reader[id] != i || tensors[id].bytes.empty()) continue;
      spare.add(std::move(tensors[id]));
      tensors[id] = Tensor{};
    }
  }
  Tensor output = tensors[graph.output];  // of its own size; the memory stays
  spare.add(std::move(tensors[graph.output]));
  return output;
}

}  // namespace qsim::golden
