#include "golden/graph/cpu/graph_executor.h"

#include "golden/graph/cpu/layer_executor.h"

namespace qsim::golden {
namespace {

void check_input(const Graph& graph, const Tensor& input) {
  const Shape expected = graph.input_value().shape.nhwc();
  if (input.dtype == graph.input_value().dtype && input.shape == expected) return;
  throw_bad_input("input is " + std::string(dtype_name(input.dtype)) + " " +
                  shape_text(input.shape) + "; graph '" + graph.name + "' reads " +
                  std::string(dtype_name(graph.input_value().dtype)) + " " + shape_text(expected));
}

// Gives `tensor` the shape and dtype of `value`, and memory for it; what it had is used again.
void fit(Tensor& tensor, const Value& value) {
  Shape shape = value.shape.nhwc();
  const std::size_t bytes =
      static_cast<std::size_t>(element_count(shape)) * dtype_bytes(value.dtype);
  if (tensor.bytes.capacity() < bytes) {
    tensor = Tensor(value.dtype, std::move(shape));
    return;
  }
  tensor.dtype = value.dtype;
  tensor.shape = std::move(shape);
  tensor.bytes.resize(bytes);
}

}  // namespace

GraphExecutor::GraphExecutor(const Graph& graph, const ExecutorOptions& options)
    : graph_(graph), options_(options), kernels_(vector_kernels(options.vector_path)) {
  validate(graph);
  QSIM_CHECK(!graph.is_real(), graph.name + ": a float network has no integers");
  QSIM_CHECK(options.kept_layers.empty() || options.kept_layers.size() == graph.layers.size(),
             "kept_layers names " + std::to_string(options.kept_layers.size()) + " layers");
  std::vector<StepTensors> steps;
  for (const Layer& layer : graph.layers) steps.push_back({layer.inputs, layer.output});
  buffers_ = plan_buffers(steps);
  if (!options.pack_ahead) return;
  layers_.reserve(graph.layers.size());
  for (std::size_t i = 0; i < graph.layers.size(); ++i) layers_.push_back(layer_executor(i));
}

GraphExecutor::~GraphExecutor() = default;

std::vector<Tensor> GraphExecutor::run(const Tensor& input) const {
  std::vector<Tensor> outputs;
  run(input, outputs);
  return outputs;
}

void GraphExecutor::run(const Tensor& input, std::vector<Tensor>& outputs) const {
  check_input(graph_, input);
  std::vector<Tensor> buffers = take_buffers();  // of the tensors that are not kept
  if (options_.keep_every_layer) outputs.resize(graph_.layers.size());
  std::vector<const Tensor*> tensors(graph_.tensors.size(), nullptr);
  tensors[graph_.input] = &input;
  std::vector<const Tensor*> operands;
  for (std::size_t i = 0; i < graph_.layers.size(); ++i) {
    const Layer& layer = graph_.layers[i];
    if (options_.keep_every_layer && !keeps(i)) outputs[i] = Tensor{};
    Tensor& output = keeps(i) ? outputs[i] : buffers[buffers_.buffers[i]];
    fit(output, graph_.output_of(i));
    operands.clear();
    for (const TensorId id : layer.inputs) operands.push_back(tensors[id]);
    if (options_.pack_ahead) {
      layers_[i]->run(operands, output);
    } else {
      layer_executor(i)->run(operands, output);
      // Memory counts more than touching it anew.
      for (const std::size_t buffer : buffers_.freed[i]) buffers[buffer] = Tensor{};
    }
    tensors[layer.output] = &output;
  }
  if (!options_.keep_every_layer) {
    outputs.resize(1);
    outputs[0] = *tensors[graph_.output];
  }
  if (options_.pack_ahead) leave_buffers(std::move(buffers));
}

std::vector<Tensor> GraphExecutor::take_buffers() const {
  const std::lock_guard lock(mutex_);
  if (left_.empty()) return std::vector<Tensor>(buffers_.count);
  std::vector<Tensor> buffers = std::move(left_.back());
  left_.pop_back();
  return buffers;
}

void GraphExecutor::leave_buffers(std::vector<Tensor> buffers) const {
  const std::lock_guard lock(mutex_);
  left_.push_back(std::move(buffers));
}

bool GraphExecutor::keeps(std::size_t index) const {
  return options_.keep_every_layer && (options_.kept_layers.empty() || options_.kept_layers[index]);
}

std::unique_ptr<LayerExecutor> GraphExecutor::layer_executor(std::size_t index) const {
  return options_.path == Path::kPlain ? make_reference_executor(graph_, index)
                                       : make_optimised_executor(graph_, index, kernels_);
}

std::vector<Tensor> run_graph(const Graph& graph, const Tensor& input,
                              const ExecutorOptions& options) {
  return GraphExecutor(graph, options).run(input);
}

std::vector<Tensor> run_graph(const Graph& graph, const Tensor& input, Path path) {
  return run_graph(graph, input, ExecutorOptions{.path = path});
}

}  // namespace qsim::golden
