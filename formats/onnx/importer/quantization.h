// Scales and zero points of a node's inputs. A scale is any positive float32.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/network/graph.h"
#include "formats/onnx/importer/node_reader.h"

namespace qsim::formats {

// How one activation tensor is quantized: a real number is (q - zero_point) * scale.
struct Quantization {
  DType dtype = DType::kInt8;  // kInt8 or kUint8
  std::int32_t zero_point = 0;
  Scale scale = Scale::power_of_two(0);

  std::int32_t min() const { return dtype == DType::kUint8 ? 0 : -128; }
  std::int32_t max() const { return dtype == DType::kUint8 ? 255 : 127; }
  bool operator==(const Quantization&) const = default;
};

// The same without a shape.
Value value_of(const Quantization& quantization);

// "scale 0.0625, zero_point 3"
std::string quantization_text(const Quantization& quantization);
// The number in as few digits as give the same float32.
std::string float_text(float value);

// A positive finite number as a scale; refuses any other by the name `what`.
Scale scale_of(const NodeReader& node, float value, const std::string& what);

// Scale and zero point at inputs `index` and `index` + 1: shape [] or [1]. `name` is "x", "y", ...:
// the scale is called x_scale. An absent zero point is 0 of type `absent`, or malformed where
// `absent` is empty.
Quantization read_quantization(const NodeReader& node, int index, const std::string& name,
                               std::optional<DType> absent = {});

// Reads how a QuantizeLinear quantizes what it writes: one scale, int8 or uint8.
Quantization read_quantize_linear(const NodeReader& node);

// How a constant is quantized, per tensor or per channel: one element or `channels` of them.
struct ChannelQuantization {
  std::vector<float> scales;
  std::vector<std::int32_t> zero_points;
};

// The scale at `index` and the zero points at `index` + 1, which are of type `dtype` and absent
// where they are 0: shape [], [1] or [channels], each for itself.
ChannelQuantization read_channel_quantization(const NodeReader& node, int index,
                                              const std::string& name, std::int64_t channels,
                                              DType dtype);

// An element of an int8, uint8 or int32 tensor.
std::int32_t level_at(const Tensor& tensor, std::size_t index);

}  // namespace qsim::formats
