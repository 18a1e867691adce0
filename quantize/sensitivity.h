// How much the network's output suffers when the weights of one layer alone have few bits.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <vector>

#include "core/network/graph.h"
#include "golden/common/thread_team.h"
#include "quantize/quantizer.h"

namespace qsim::quantize {

// Of weights, in the order in which mixed precision goes down.
inline constexpr std::array<int, 5> kWeightBits = {8, 6, 4, 3, 2};

enum class SensitivityRule : std::uint8_t {
  // The mean squared error of the float network's output with that layer's weights quantized.
  kMse,
  // Its expected value for an error of the weights in any direction, after HAWQ-V2 (Dong et al.,
  // NeurIPS 2020): mean of diag(H) * |Q(w) - w|^2. H is the Hessian of half the squared error of
  // the
  // output, which at the float weights is J^T J exactly, J the output's Jacobian by the layer's
  // weights. Its trace is the mean of |J v|^2 over random signs v (Hutchinson), and J v is taken by
  // a difference of two runs: no derivative is needed.
  kTrace
};

// "mse", "trace"
std::string_view sensitivity_name(SensitivityRule rule);

struct LayerSensitivity {
  std::size_t layer = 0;     // of Graph::layers
  std::int64_t weights = 0;  // how many
  std::map<int, double> at;  // by bits: mean squared error of an element of the output
};

// The scheme with these bits for the weights of these layers (by index).
Scheme with_weight_bits(const Graph& graph, const Scheme& scheme,
                        const std::map<std::size_t, int>& bits);

// One a layer with weights, in the order of the graph. `pictures` is float32 [N][H][W][C]. kMse
// runs the network once a layer and number of bits, kTrace kTraceProbes times a layer. `on_layer`,
// unless empty, is told how many layers are done, and may throw.
inline constexpr int kTraceProbes = 4;
std::vector<LayerSensitivity> sensitivities(const Graph& graph, const Scheme& scheme,
                                            const Tensor& pictures, SensitivityRule rule,
                                            golden::ThreadTeam& team,
                                            const std::function<void(std::size_t)>& on_layer = {});

}  // namespace qsim::quantize
