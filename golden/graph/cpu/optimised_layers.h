// One executor per kind of layer for the optimised path, and what they share. Equal to the plain
// loops of reference_layers.cpp bit for bit.
#pragma once

#include <memory>
#include <span>

#include "golden/graph/cpu/layer_executor.h"

namespace qsim::golden {

// What a layer is made ready from beside its operation.
struct LayerContext {
  const Value& input;
  const Value& last_input;  // of two operands the second
  const Value& output;
  const VectorKernels& kernels;
};

using MadeLayer = std::unique_ptr<LayerExecutor>;
MadeLayer make_layer(const Conv2d& conv, const LayerContext& layer);
// A convolution each output channel of which reads one input channel of its own.
bool is_depthwise(const Conv2d& conv, const Value& input, const Value& output);
MadeLayer make_depthwise(const Conv2d& conv, const LayerContext& layer);
MadeLayer make_layer(const FullyConnected& fc, const LayerContext& layer);
MadeLayer make_layer(const MaxPool& pool, const LayerContext& layer);
MadeLayer make_layer(const Relu& relu, const LayerContext& layer);
MadeLayer make_layer(const Flatten& flatten, const LayerContext& layer);
MadeLayer make_layer(const AveragePool& pool, const LayerContext& layer);
MadeLayer make_layer(const Add& add, const LayerContext& layer);
MadeLayer make_layer(const Concat& concat, const LayerContext& layer);
MadeLayer make_layer(const LookupTable& table, const LayerContext& layer);
MadeLayer make_layer(const PRelu& prelu, const LayerContext& layer);

inline constexpr std::uint8_t kSignBit = 0x80;  // what int8 and uint8 of one level differ in

// Activations as the vector kernels want them: unsigned bytes u with zero point `zero_point`, so
// that u - zero_point is the real difference whatever the dtype. Keeps the tensor, or a copy.
class UnsignedActivations {
 public:
  UnsignedActivations(const Tensor& tensor, const Value& value);
  UnsignedActivations(const UnsignedActivations&) = delete;
  UnsignedActivations& operator=(const UnsignedActivations&) = delete;
  const std::uint8_t* data() const { return data_; }

 private:
  std::vector<std::uint8_t> copy_;
  const std::uint8_t* data_;
};

// The zero point of UnsignedActivations: 128 is added to int8.
inline std::int32_t unsigned_zero_point(const Value& value) {
  return value.is_unsigned() ? value.zero_point : value.zero_point + 128;
}

// a + b and a * b mod 2^32.
constexpr std::int32_t wrapping_add(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
}
constexpr std::int32_t wrapping_mul(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) * static_cast<std::uint32_t>(b));
}

}  // namespace qsim::golden
