#include "golden/cpu/graph_executor.h"

#include "golden/cpu/layer_executor.h"

namespace qsim::golden {
namespace {

void check_input(const Graph& graph, const Tensor& input) {
  const Shape expected = graph.input.shape.nhwc();
  if (input.dtype == graph.input.dtype && input.shape == expected) return;
  throw_bad_input("input is " + std::string(dtype_name(input.dtype)) + " " +
                  shape_text(input.shape) + "; graph '" + graph.name + "' reads " +
                  std::string(dtype_name(graph.input.dtype)) + " " + shape_text(expected));
}

// Gives `tensor` the shape and dtype of `value`; one that has them keeps its memory.
void fit(Tensor& tensor, const Value& value) {
  const Shape shape = value.shape.nhwc();
  if (tensor.dtype == value.dtype && tensor.shape == shape && !tensor.bytes.empty()) return;
  tensor = Tensor(value.dtype, shape);
}

}  // namespace

GraphExecutor::GraphExecutor(const Graph& graph, const ExecutorOptions& options)
    : graph_(graph), options_(options) {
  validate(graph);
  const VectorKernels& kernels = vector_kernels(options.vector_path);
  layers_.reserve(graph.layers.size());
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    const Layer& layer = graph.layers[i];
    layers_.push_back(options.path == Path::kPlain
                          ? make_reference_executor(layer, graph.input_of(i))
                          : make_optimised_executor(layer, graph.input_of(i), kernels));
  }
}

GraphExecutor::~GraphExecutor() = default;

std::vector<Tensor> GraphExecutor::run(const Tensor& input) const {
  std::vector<Tensor> outputs;
  run(input, outputs);
  return outputs;
}

void GraphExecutor::run(const Tensor& input, std::vector<Tensor>& outputs) const {
  check_input(graph_, input);
  // Without every layer's tensor two take turns, and the last is returned.
  std::vector<Tensor> turns(2);
  std::vector<Tensor>& tensors = options_.keep_every_layer ? outputs : turns;
  if (options_.keep_every_layer) outputs.resize(layers_.size());
  const Tensor* current = &input;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    Tensor& output = tensors[i % tensors.size()];
    fit(output, graph_.layers[i].output);
    layers_[i]->run(*current, output);
    current = &output;
  }
  if (!options_.keep_every_layer) outputs = {*current};
}

std::vector<Tensor> run_graph(const Graph& graph, const Tensor& input,
                              const ExecutorOptions& options) {
  return GraphExecutor(graph, options).run(input);
}

std::vector<Tensor> run_graph(const Graph& graph, const Tensor& input, Path path) {
  return run_graph(graph, input, ExecutorOptions{.path = path});
}

}  // namespace qsim::golden
