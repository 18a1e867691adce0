// One layer on the device, with its weights: what CudaRealExecutor keeps for each layer of its
// graph.
#pragma once

#include <memory>
#include <span>
#include <string>

#include <cuda_runtime.h>

#include "core/network/graph.h"
#include "golden/graph/real/layer_weights.h"

namespace qsim::golden::cuda {

class RealStep {
 public:
  virtual ~RealStep() = default;
  // Takes memory for runs of so many pictures.
  virtual void reserve(std::int64_t /*pictures*/) {}
  // Enqueues the layer for `pictures` pictures. `output` is none of the operands.
  virtual void launch(std::span<const float* const> operands, float* output, std::int64_t pictures,
                      cudaStream_t stream) const = 0;
  virtual std::string kernel() const = 0;
};

// Uploads the weights and keeps no pointer to them. `layer` is a Conv2d or FullyConnected;
// `integers` may be absent.
std::unique_ptr<RealStep> make_product_step(const Graph& graph, const Layer& layer,
                                            const RealLayerWeights* integers);
// Every other layer.
std::unique_ptr<RealStep> make_data_step(const Graph& graph, const Layer& layer);

}  // namespace qsim::golden::cuda
