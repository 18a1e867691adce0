// Executes a Graph on the CPU, in one thread: the trusted result of every other engine. It knows
// the graph alone, never the compiler or a Program.
//
// Two independent paths give the same bits: plain loops that read like the definition in
// core/network/graph.h, and an implicit GEMM with vector instructions chosen at run time.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "core/network/graph.h"
#include "golden/common/buffer_plan.h"
#include "golden/common/vector_path.h"

namespace qsim::golden {

enum class Path : std::uint8_t { kPlain, kOptimised };

struct ExecutorOptions {
  Path path = Path::kOptimised;
  VectorPath vector_path = VectorPath::kAuto;  // of the optimised path; must be available
  bool keep_every_layer = true;                // false: run() returns the last layer alone
  // With keep_every_layer, by layer: whether it is kept, or else a tensor of no bytes. Empty: all
  // are.
  std::vector<bool> kept_layers = {};
  // false, for a single run: each layer's weights are packed when it runs and dropped after it.
  bool pack_ahead = true;
};

class LayerExecutor;
struct VectorKernels;

// Holds packed convolution weights (fully connected weights are used where they lie), so that
// several inputs pay for the packing once (unless packing ahead is not wanted). The graph must
// outlive it. run() may be called from several threads at once.
class GraphExecutor {
 public:
  // Throws Error for a graph that validate() refuses and for a path that is not available.
  explicit GraphExecutor(const Graph& graph, const ExecutorOptions& options = {});
  GraphExecutor(Graph&&, const ExecutorOptions& = {}) = delete;  // would outlive its graph
  ~GraphExecutor();
  GraphExecutor(const GraphExecutor&) = delete;
  GraphExecutor& operator=(const GraphExecutor&) = delete;

  // `input` is NHWC in the graph's input dtype. One tensor per layer, NHWC in the layer's output
  // dtype. Throws Error when the input is not of the graph's shape or dtype.
  std::vector<Tensor> run(const Tensor& input) const;
  // The same into the tensors of an earlier run, whose memory is used again: touching fresh pages
  // costs VGG-16 a quarter of its time. `input` must not be one of them.
  void run(const Tensor& input, std::vector<Tensor>& outputs) const;

 private:
  std::unique_ptr<LayerExecutor> layer_executor(std::size_t index) const;
  bool keeps(std::size_t index) const;
  std::vector<Tensor> take_buffers() const;
  void leave_buffers(std::vector<Tensor> buffers) const;

  const Graph& graph_;
  ExecutorOptions options_;
  const VectorKernels& kernels_;
  BufferPlan buffers_;
  std::vector<std::unique_ptr<LayerExecutor>> layers_;  // empty without packing ahead
  // What runs have left, so that the next ones touch no fresh pages; one list a run at the same
  // time. Empty without packing ahead.
  mutable std::mutex mutex_;
  mutable std::vector<std::vector<Tensor>> left_;
};

std::vector<Tensor> run_graph(const Graph& graph, const Tensor& input,
                              const ExecutorOptions& options);
std::vector<Tensor> run_graph(const Graph& graph, const Tensor& input,
                              Path path = Path::kOptimised);

}  // namespace qsim::golden
