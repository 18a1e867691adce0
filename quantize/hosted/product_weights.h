// The constant weights of a product of a HostNetwork, as a matrix with a row an output channel.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/network/host_network.h"

namespace qsim::quantize {

// How a node's weights lie: [Cout][rest], or turned, [groups][depth][channels][rest] with Cout =
// groups * channels.
struct WeightLayout {
  bool is_turned = false;
  std::int64_t groups = 1;
  std::int64_t depth = 1;
  std::int64_t channels = 1;
  std::int64_t rest = 1;

  std::int64_t out_channels() const { return groups * channels; }
};

// Conv, ConvTranspose, Gemm or MatMul of a tensor and constant weights.
struct ProductWeights {
  std::size_t input = 1;  // of the node, which the weights are
  WeightLayout layout = {};
  // The axis of the weights that is the output channels; none where no axis is (groups of a
  // transposed convolution, stacks of matrices, a constant on the left).
  std::optional<std::int64_t> axis = {};
  // The axis of the output that is the channels; none where `axis` is none.
  std::optional<std::int64_t> out_axis = {};
  std::vector<float> bias = {};  // one an output channel, 0 where the node has none
};

// Nothing for another node: one whose other operand is not a tensor that a run computes, whose
// bias is not one number a channel, and a Gemm with factors.
std::optional<ProductWeights> product_weights(const HostNetwork& network, const HostNode& node);

// [Cout][depth * rest] of weights, and back in the shape that they had; any type.
Tensor rows_of_channels(const Tensor& weights, const WeightLayout& layout);
Tensor from_rows(const Tensor& rows, const WeightLayout& layout, const Shape& shape);

}  // namespace qsim::quantize
