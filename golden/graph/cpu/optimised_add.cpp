// The addition of two tensors: float32 by vector instructions where the processor has fused
// multiply-adds, and else, as all other roundings, by integers from a table for each operand.
// TensorFlow Lite's roundings have the same form (core/numerics/tflite_adder.h).
#include <array>
#include <cmath>
#include <optional>

#include "core/network/layer_arithmetic.h"
#include "golden/graph/cpu/optimised_layers.h"

namespace qsim::golden {
namespace {

std::int32_t level_of(std::size_t byte, const Value& value) {
  return value.is_unsigned() ? static_cast<std::int32_t>(byte) : static_cast<std::int8_t>(byte);
}

// `units` of core/numerics/adder.h, which are a float32.
float real_of(std::int64_t units) {
  return static_cast<float>(std::ldexp(static_cast<double>(units), -kAdderFractionBits));
}

class AddExecutor : public LayerExecutor {
 public:
  AddExecutor(const Add& add, const Value& a, const Value& b, const Value& output,
              const VectorKernels& kernels)
      : add_(add), output_(output), adder_(adder_of(add, a, b, output).value()), kernels_(kernels) {
    operands_ = {real_of(adder_.a_ratio),
                 real_of(adder_.b_ratio),
                 0,
                 static_cast<std::uint8_t>(a.is_unsigned() ? 0 : kSignBit),
                 static_cast<std::uint8_t>(b.is_unsigned() ? 0 : kSignBit),
                 add.lo,
                 add.hi};
    is_float32_ = adder_.rounding == RequantizerRounding::kFloat32;
    if (is_float32_) operands_.fixed = real_of(adder_.fixed);
    if (is_tflite(add.rounding)) {
      make_tflite_parts(a, b);
      return;
    }
    for (std::size_t byte = 0; byte < a_parts_.size(); ++byte) {
      a_parts_[byte] = level_of(byte, a) * adder_.a_ratio;
      const std::int64_t b_part = level_of(byte, b) * adder_.b_ratio + adder_.fixed;
      b_parts_[byte] = is_float32_ ? nearest_signed_float32(b_part) : b_part;
    }
  }

  void run(Operands inputs, Tensor& output) const override {
    const auto* a = reinterpret_cast<const std::uint8_t*>(inputs[0]->bytes.data());
    const auto* b = reinterpret_cast<const std::uint8_t*>(inputs[1]->bytes.data());
    auto* out = reinterpret_cast<std::uint8_t*>(output.bytes.data());
    const std::size_t count = output.bytes.size();
    if (is_float32_ && kernels_.add_float32 != nullptr) {
      return kernels_.add_float32(operands_, a, b, out, count);
    }
    for (std::size_t i = 0; i < count; ++i) {
      out[i] = static_cast<std::uint8_t>(level(a_parts_[a[i]] + b_parts_[b[i]]));
    }
  }

 private:
  void make_tflite_parts(const Value& a, const Value& b) {
    tflite_ = tflite_adder_of(add_, a, b, output_);
    for (std::size_t byte = 0; byte < a_parts_.size(); ++byte) {
      a_parts_[byte] = tflite_part(level_of(byte, a), a.zero_point, tflite_->a);
      b_parts_[byte] = tflite_part(level_of(byte, b), b.zero_point, tflite_->b);
    }
  }

  // What add_levels() does with its last sum.
  std::int32_t level(std::int64_t sum) const {
    if (tflite_) return tflite_sum(sum, *tflite_, output_.zero_point, add_.lo, add_.hi);
    if (is_float32_) {
      return clamp_to(
          rounding_shift(nearest_signed_float32(sum), kAdderFractionBits, RoundingMode::kHalfEven),
          add_.lo, add_.hi);
    }
    const std::int64_t rounded =
        rounding_shift(sum, kAdderFractionBits, static_cast<RoundingMode>(adder_.rounding));
    return clamp_to(rounded + output_.zero_point, add_.lo, add_.hi);
  }

  const Add& add_;
  const Value& output_;
  Adder adder_;
  std::optional<TfliteAdder> tflite_;
  const VectorKernels& kernels_;
  AddOperands operands_{};
  bool is_float32_ = false;
  std::array<std::int64_t, 256> a_parts_{};  // by byte
  std::array<std::int64_t, 256> b_parts_{};
};

}  // namespace

MadeLayer make_layer(const Add& add, const LayerContext& layer) {
  return std::make_unique<AddExecutor>(add, layer.input, layer.last_input, layer.output,
                                       layer.kernels);
}

}  // namespace qsim::golden
