// Networks parts of which are integers (core/network/hybrid_network.h), of a float network:
// weight-only, dynamic and fake quantization.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "core/network/graph.h"
#include "core/network/hybrid_network.h"
#include "quantize/quantizer.h"
#include "quantize/ranges/tensor_statistics.h"

namespace qsim::quantize {

// The network of that mode with these weights and biases (layers that are absent stay float). In
// dynamic quantization each layer reads levels of 8 bits, asymmetric, of each picture's range.
// `rules` are of fake quantization: one a tensor, or none in other modes. Throws Error (exit code
// 4) where dynamic quantization has weights that 8 bits do not hold.
HybridNetwork hybrid_network(const Graph& graph, HybridMode mode,
                             const std::map<std::size_t, LayerWeights>& weights,
                             std::vector<std::optional<TensorRule>> rules = {});

// Powers of two for every tensor that `tensors` quantizes: +-scale * 2^e and 0, e = lo..0, as many
// exponents as `bits` hold beside 0 (and a sign, where the tensor has numbers below 0): 2^(bits-1)
// - 1, or 2^bits - 1. The scale is the largest |x|, or with kMse one of it times 2^(-k/8), k =
// 0..32, that has the least squared error in the histogram; powers of two alone (kPowerOfTwo): the
// nearest to the largest |x| in the logarithm, and those below. 2 to 5 bits.
std::vector<std::optional<TensorRule>> log2_rules(const TensorQuantizations& tensors,
                                                  const std::vector<TensorStatistics>& statistics,
                                                  int bits, ClippingRule clipping, ScaleKind kind);

}  // namespace qsim::quantize
