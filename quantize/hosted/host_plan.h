// Which tensors of a float HostNetwork become levels, and which share a quantization.
//
// - Products (Conv, ConvTranspose, Gemm, MatMul), sums and products of two tensors, and average
//   pools read and write levels. A Relu or Clip after one of them, and the constant bias of a
//   MatMul, belong to it: what it writes is behind them.
// - What moves numbers (Reshape, MaxPool, Concat, ...) has one quantization on both sides. It is
//   quantized where something of the first kind reads or writes one of its tensors.
// - Functions of one tensor (Sigmoid, x * sigmoid(x), chains of them) stay float32 inside: one
//   table on the array, or nodes of the host.
// - All else is float32: Softmax, normalizations and their pieces, divisions of two tensors.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/network/host_network.h"
#include "quantize/hosted/product_weights.h"

namespace qsim::quantize {

struct HostPlan {
  // Tensors with one quantization.
  struct Group {
    std::vector<HostValueId> values;
    std::vector<HostValueId> roots;  // they have all numbers of the group
    bool has_input = false;          // one of them is an input of the network
  };
  struct Product {
    std::size_t node = 0;    // of HostNetwork::nodes
    HostValueId output = 0;  // the tensor of its levels, behind a Relu or Clip
    ProductWeights weights = {};
  };
  struct Addition {
    HostValueId a = 0;
    HostValueId b = 0;
    HostValueId output = 0;
  };

  std::vector<Group> groups;
  std::vector<std::optional<std::size_t>> group_of;  // by value; nothing for a float32 tensor
  std::vector<bool> is_moved;                        // by value: written by what moves numbers
  std::vector<Product> products;                     // with constant weights
  std::vector<Addition> additions;
};

// `network` is folded_network()'s, with known shapes.
HostPlan plan_quantization(const HostNetwork& network);

}  // namespace qsim::quantize
