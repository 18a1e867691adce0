// Integer weights of a layer of a float network: for weight-only and dynamic quantization, and for
// weights that are powers of two. docs/reference/golden.md has the arithmetic.
#pragma once

#include <vector>

#include "core/network/hybrid_network.h"

namespace qsim::golden {

// They are core's: files have them too.
using qsim::InputRule;
using qsim::IntegerWeights;
using qsim::kMostExponents;
using qsim::kMostIntegerWeight;
using qsim::log2_weights;
using qsim::Log2Weights;
using qsim::RealLayerWeights;

// Throws Error (exit code 3) naming the layer, what was found and what is allowed.
void check_layer_weights(const Layer& layer, const RealLayerWeights& weights);

}  // namespace qsim::golden
