// What becomes of a float32 tensor in fake quantization: each value goes to the nearest one that
// the quantized network could hold, and stays float32.
#pragma once

#include <cstdint>
#include <variant>

#include "core/tensor.h"

namespace qsim::golden {

// q = clamp(rint(x / scale) + zero_point, lo, hi); x becomes (q - zero_point) * scale. All float32,
// rint to nearest even, as ONNX QuantizeLinear and DequantizeLinear. What is not a number gives the
// zero_point.
struct UniformRule {
  float scale = 1;
  std::int32_t zero_point = 0;
  std::int32_t lo = -128;
  std::int32_t hi = 127;
};

// The UniformRule whose range is that of the tensor, each picture of it by itself (`per_picture`)
// or the batch as one, found at run time. Asymmetric: as ONNX DynamicQuantizeLinear, the range
// always with 0. Symmetric: scale max|x| / hi, zero_point 0.
struct DynamicRule {
  int bits = 8;
  bool symmetric = false;
  bool per_picture = true;
};

// Nearest value of a small float format, ties to even; beyond its largest number it saturates.
struct FloatRule {
  enum class Format : std::uint8_t { kFp8E4m3, kFp8E5m2, kBf16, kFp16, kTf32 };
  Format format = Format::kBf16;
  float scale = 1;  // x / scale is rounded, then multiplied by scale
};

// sign(x) * scale * 2^e, e the integer nearest to log2(|x| / scale), within lo..hi; 0 where |x| /
// scale is below 2^(lo - 0.5).
struct Log2Rule {
  float scale = 1;
  std::int32_t lo = -7;
  std::int32_t hi = 0;
};

using TensorRule = std::variant<UniformRule, DynamicRule, FloatRule, Log2Rule>;

// Applies a rule in place; `tensor` is float32, its first axis the pictures.
void apply(const TensorRule& rule, Tensor& tensor);

}  // namespace qsim::golden
