// One executor per kind of layer for the optimised path, and what they share. Equal to the plain
// loops of reference_layers.h bit for bit.
#pragma once

#include <memory>
#include <span>

#include "golden/cpu/layer_executor.h"

namespace qsim::golden {

std::unique_ptr<LayerExecutor> make_conv2d(const Conv2d& conv, const Value& input,
                                           const Value& output, const VectorKernels& kernels);
// Whether each output channel reads one input channel of its own: make_depthwise() takes it.
bool is_depthwise(const Conv2d& conv, const Value& input, const Value& output);
std::unique_ptr<LayerExecutor> make_depthwise(const Conv2d& conv, const Value& input,
                                              const Value& output, const VectorKernels& kernels);
std::unique_ptr<LayerExecutor> make_fully_connected(const FullyConnected& fc, const Value& input,
                                                    const Value& output,
                                                    const VectorKernels& kernels);
std::unique_ptr<LayerExecutor> make_max_pool(const MaxPool& pool, const Value& input,
                                             const Value& output);
std::unique_ptr<LayerExecutor> make_relu(const Value& output);
std::unique_ptr<LayerExecutor> make_flatten(const Flatten& flatten, const Value& input);
std::unique_ptr<LayerExecutor> make_average_pool(const AveragePool& pool, const Value& input,
                                                 const Value& output, const VectorKernels& kernels);
std::unique_ptr<LayerExecutor> make_add(const Add& add, const Value& a, const Value& b,
                                        const Value& output, const VectorKernels& kernels);
std::unique_ptr<LayerExecutor> make_concat();
std::unique_ptr<LayerExecutor> make_lookup_table(const LookupTable& table);
std::unique_ptr<LayerExecutor> make_prelu(const PRelu& prelu, const Value& input,
                                          const Value& output);

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
