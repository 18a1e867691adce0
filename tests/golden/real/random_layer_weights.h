// Seeded integer weights for the layers of a float network.
#pragma once

#include <map>

#include "core/base/random.h"
#include "golden/graph/real/layer_weights.h"

namespace qsim::golden {

IntegerWeights random_integers(Random& random, const Shape& shape);
Log2Weights random_powers(Random& random, const Shape& shape);

// What the layers read: floats, levels of a rule found at run time, levels of a fixed one.
enum class WeightMode { kWeightOnly, kDynamic, kStatic };

// Draws weights for every convolution and linear layer.
std::map<std::size_t, RealLayerWeights> random_layer_weights(Random& random, const Graph& graph,
                                                             WeightMode mode, bool log2);

}  // namespace qsim::golden
