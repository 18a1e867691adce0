// Cross-layer equalization: weights of a channel become larger in one layer and smaller in the
// next, so that one scale a tensor fits all channels, and the network computes what it did (Nagel,
// van Baalen, Blankevoort, Welling, "Data-Free Quantization Through Weight Equalization and Bias
// Correction", ICCV 2019, section 4.1).
//
// Two layers with weights make a pair when only Relu, LeakyRelu, pools and Flatten are between them
// and each tensor between them has one reader: f(s x) = s f(x) for s > 0 then. Channel c of the
// first layer is divided by s_c (its weights and its bias), and the weights of the second layer
// that read it are multiplied by s_c, with s_c = sqrt(r1_c / r2_c), r1_c and r2_c the largest
// magnitudes of the channel's weights in the first and in the second layer: both are sqrt(r1_c
// r2_c) then. A depthwise convolution is the second layer of one pair and the first of the next.
//
// Clip (ReLU6), sigmoids and HardSwish know how large their input is: no pair is across them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/network/graph.h"

namespace qsim::quantize {

struct Equalization {
  // true: s_c is the power of two nearest to sqrt(r1_c / r2_c), so that no weight is rounded, and
  // the network's output keeps its bits, unless a number becomes subnormal or infinite.
  bool powers_of_two = true;
  int most_rounds = 100;
};

struct EqualizedPair {
  std::size_t first = 0;  // indices of Graph::layers
  std::size_t second = 0;
};

struct EqualizedGraph {
  Graph graph;
  std::vector<EqualizedPair> pairs;
  // "conv1: clip 'relu6' depends on the size of its input": layers with weights that could not be
  // the first of a pair because of a function between.
  std::vector<std::string> left_out;
  int rounds = 0;  // over all pairs, until no factor was far from 1
};

// A channel whose weights are all 0 in either layer keeps its weights: its factor is 1.
EqualizedGraph equalize(const Graph& graph, const Equalization& options = {});

}  // namespace qsim::quantize
