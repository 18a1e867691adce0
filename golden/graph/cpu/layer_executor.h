// One layer made ready to run: what GraphExecutor keeps for each layer of the graph. The graph
// must outlive it.
#pragma once

#include <memory>
#include <span>

#include "core/network/graph.h"
#include "golden/graph/cpu/vector_kernels.h"

namespace qsim::golden {

// The tensors that a layer reads, in the order of its operands.
using Operands = std::span<const Tensor* const>;

// The Values that a layer reads, in the order of its operands, and the one that it writes.
struct LayerValues {
  std::vector<const Value*> inputs;
  const Value& output;
};
LayerValues values_of(const Graph& graph, std::size_t layer);

class LayerExecutor {
 public:
  virtual ~LayerExecutor() = default;
  // `inputs` have the shapes and dtypes of the layer's operands, `output` those of its output;
  // every element of `output` is written. `output` is none of `inputs`.
  virtual void run(Operands inputs, Tensor& output) const = 0;
};

// The plain loops (reference_layers.cpp).
std::unique_ptr<LayerExecutor> make_reference_executor(const Graph& graph, std::size_t layer);

// The optimised path; `kernels` must outlive the executor.
std::unique_ptr<LayerExecutor> make_optimised_executor(const Graph& graph, std::size_t layer,
                                                       const VectorKernels& kernels);

}  // namespace qsim::golden
