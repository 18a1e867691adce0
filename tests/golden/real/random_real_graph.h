// Seeded float networks of every kind of layer, and their numbers.
#pragma once

#include "core/base/random.h"
#include "core/network/graph.h"

namespace qsim::golden {

// Finite numbers of both signs over many magnitudes: some 0, some -0, some subnormal.
float random_float(Random& random);
Tensor random_floats(Random& random, Shape shape);

// A convolution over a picture of this shape, with its output's shape.
struct RandomConv {
  Conv2d conv;
  ImageShape output;
};
RandomConv random_conv(Random& random, const ImageShape& input, std::int64_t outputs,
                       std::int64_t groups);

// A graph of up to about ten layers with branches; validate() accepts it.
Graph random_real_graph(std::uint64_t seed);

// A graph of one layer.
Graph single_layer(const ImageShape& input, Operation operation, const ImageShape& output);

}  // namespace qsim::golden
