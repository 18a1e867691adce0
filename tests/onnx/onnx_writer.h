// From a Graph to an ONNX file that says the same: the importer's inverse, for round trips and for
// runs in ONNX Runtime. Not part of qsim itself.
#pragma once

#include <filesystem>

#include "core/network/graph.h"

namespace qsim {

// Writes opset 13 (14 where a Relu is needed), with QuantizeLinear and DequantizeLinear by the
// graph's host flags and Transposes by its layout. The graph must be valid.
// - An absent scale is written as 1; weight scales follow from the shifts or requantizers.
// - A Relu at the dtype's smallest zero_point does nothing and is left out; an int8 Relu, or a
//   clamp at lo = zero_point = 0, becomes a Relu node. A fully connected layer that reads a
//   picture gets a Flatten.
// Throws Error (exit code 4) naming the layer for what ONNX cannot say: another rounding than
// half_even of shifts and float32 of scales, another clamp, a picture layer after a flat one, a
// lookup table, weights of nine bits; and a tail of the host.
void write_onnx(const Graph& graph, const std::filesystem::path& path);

}  // namespace qsim
