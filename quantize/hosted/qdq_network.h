// From a float HostNetwork and the statistics of its tensors to one with QuantizeLinear and
// DequantizeLinear around what runs on levels: ONNX's QDQ form.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/network/host_network.h"
#include "quantize/hosted/host_plan.h"
#include "quantize/quantizer.h"
#include "quantize/ranges/tensor_statistics.h"

namespace qsim::quantize {

struct QdqNetwork {
  HostNetwork network;  // values that the float network has keep their ids and names
  // By value of the float network: the real numbers of its levels.
  std::vector<std::optional<HostValueId>> reals;
};

// One a group of the plan, by the scheme of the node that writes its first tensor that the scheme
// names. `statistics` are by value; those of the groups' roots count.
std::vector<Quantization> quantize_groups(const HostNetwork& network, const HostPlan& plan,
                                          const std::vector<TensorStatistics>& statistics,
                                          const Scheme& scheme);

// Layers with names and weights alone: what a scheme may name.
Graph layers_of_plan(const HostNetwork& network, const HostPlan& plan);

// Throws Error as integer_weights() does.
QdqNetwork qdq_network(const HostNetwork& network, const HostPlan& plan,
                       const std::vector<Quantization>& groups, const Scheme& scheme);

}  // namespace qsim::quantize
