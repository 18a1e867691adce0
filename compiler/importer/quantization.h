// Scales and zero points of a node's inputs, and the shifts that follow from them. A scale is
// 2^-exponent; every other scale is refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/importer/node_reader.h"
#include "core/graph.h"

namespace qsim {

// Of one activation tensor: a real number is (q - zero_point) * 2^-scale_exponent.
struct Quantization {
  DType dtype = DType::kInt8;  // kInt8 or kUint8
  std::int32_t zero_point = 0;
  int scale_exponent = 0;
};

// The scale at input `index`: shape [] or [1].
int read_scale_exponent(const NodeReader& node, int index, std::string_view name);

// Scale and zero point at inputs `index` and `index` + 1: shape [] or [1]. `name` is "x", "y", ...:
// the scale is called x_scale. An absent zero point is 0 of type `absent`, or malformed where
// `absent` is empty.
Quantization read_quantization(const NodeReader& node, int index, const std::string& name,
                               std::optional<DType> absent = {});

// The weights' scale at `index`: shape [], [1] or [channels]; as many exponents as it has
// elements. Their zero points, at `index` + 1, must be int8 zeros of such a shape.
std::vector<int> read_weight_exponents(const NodeReader& node, int index, const std::string& name,
                                       std::int64_t channels);

// Round half even by shift = input + weight - output exponent, one per weight exponent; the clamp
// is the output's type. Refuses shifts outside 0..31.
Requantization requantization(const NodeReader& node, int input_exponent,
                              const std::vector<int>& weight_exponents, const Quantization& output);

// The int32 bias of `channels` elements at `index` (shape [channels], or [1, channels] where
// `row` is set); zeros when absent. Its scale is input scale * weight scale, by definition.
Tensor read_bias(const NodeReader& node, int index, std::string_view name, std::int64_t channels,
                 bool row);

}  // namespace qsim
