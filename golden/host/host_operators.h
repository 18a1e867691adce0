// The operators of the host: a table a file of them.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "golden/host/host_call.h"

namespace qsim::golden {

inline constexpr std::string_view kMicrosoft = "com.microsoft";

struct HostOperator {
  std::string_view name;
  void (*run)(HostCall& call);
  std::string_view domain = "";
  bool has_graphs = false;  // also runs where nothing is known of some inputs, and tells less then
};

// Elementwise functions of one and of two tensors, comparisons, Cast, Where.
std::span<const HostOperator> elementwise_operators();
// Functions over axes: reductions, ArgMax, Softmax, normalizations, CumSum.
std::span<const HostOperator> axis_operators();
// What moves elements: shapes, slices, gathers, pads, resizes.
std::span<const HostOperator> movement_operators();
// Products, convolutions and pools of float32 numbers, and recurrent layers.
std::span<const HostOperator> product_operators();
// Attention as one node.
std::span<const HostOperator> attention_operators();
// Levels: QuantizeLinear and its like, and operators on 8-bit numbers.
std::span<const HostOperator> quantized_operators();

// Fourier transforms, windows and mel weights.
std::span<const HostOperator> signal_operators();
// Those whose nodes have graphs.
std::span<const HostOperator> control_operators();

// The operator of a node; null for one that the host does not know.
const HostOperator* find_host_operator(const HostNode& node);
// All of them, for pages and tests.
std::vector<const HostOperator*> host_operators();

// Runs one node: one array for each of its outputs. Inputs of which nothing is known, or a shape
// that depends on unknown values, give outputs of which nothing is known. Throws Error for an
// operator that the host does not know and for a node that is malformed or not supported.
// Outputs of more than `most_bytes` are not computed and get a shape alone.
std::vector<HostArray> run_host_node(
    const HostNode& node, const std::vector<const HostArray*>& inputs,
    std::int64_t most_bytes = std::numeric_limits<std::int64_t>::max());

}  // namespace qsim::golden
