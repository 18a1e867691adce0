// Random one-layer graphs for the golden library's tests, over everything that core/network/graph.h
// allows (the accelerator allows less: formats/workload/random_layer.h makes layers for it).
#pragma once

#include "core/base/random.h"
#include "core/network/graph.h"

namespace qsim::golden_test {

Tensor random_tensor(Random& random, DType dtype, const Shape& shape);

// A graph of one layer on a random picture; most outputs are not saturated.
Graph random_conv2d(Random& random);
Graph random_fully_connected(Random& random);
Graph random_max_pool(Random& random);
Graph random_relu(Random& random);
Graph random_flatten(Random& random);

Graph one_layer(const Value& input, Operation operation, const Value& output);

// Every kind of layer once, as a small VGG would chain them.
Graph random_chain(Random& random);

}  // namespace qsim::golden_test
