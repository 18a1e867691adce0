// Seeded small graphs that ONNX can say and that ONNX Runtime computes exactly: one dtype, shifts
// up to 16 (the bound is in docs/reference/numerics.md), scales of 2^-8 to 2^0.
#pragma once

#include <cstdint>
#include <string>

#include "core/network/graph.h"

namespace qsim {

// One convolution: kernel 1-5, stride 1-3, pads per side, any zero points, per tensor or channel.
Graph random_convolution(std::uint64_t seed);

// Max-pools, perhaps a convolution or a Relu, then one or two fully connected layers or none; with
// bytes or real numbers at either end, pictures NCHW or NHWC.
Graph random_chain(std::uint64_t seed);

// Uniform over the input's whole range, NHWC.
Tensor random_input(const Graph& graph, std::uint64_t seed);

// Where two graphs differ, or "".
std::string difference(const Graph& a, const Graph& b);

}  // namespace qsim
