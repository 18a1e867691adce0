// One layer made ready to run: what GraphExecutor keeps for each layer of the graph. The layer
// and the values it was made from must outlive it.
#pragma once

#include <memory>

#include "core/graph.h"
#include "golden/cpu/vector_kernels.h"

namespace qsim::golden {

class LayerExecutor {
 public:
  virtual ~LayerExecutor() = default;
  // `input` has the shape and dtype of the layer's input value, `output` those of its output; every
  // element of `output` is written.
  virtual void run(const Tensor& input, Tensor& output) const = 0;
};

// The plain loops (reference_layers.h).
std::unique_ptr<LayerExecutor> make_reference_executor(const Layer& layer, const Value& input);

// The optimised path; `kernels` must outlive the executor.
std::unique_ptr<LayerExecutor> make_optimised_executor(const Layer& layer, const Value& input,
                                                       const VectorKernels& kernels);

}  // namespace qsim::golden
