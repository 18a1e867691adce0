// What becomes of a float32 tensor in fake quantization, as plain data. golden/graph/real applies
// it; docs/reference/golden.md has the arithmetic.
#pragma once

#include <cstdint>
#include <variant>

namespace qsim {

// q = clamp(rint(x / scale) + zero_point, lo, hi); x becomes (q - zero_point) * scale. All float32,
// rint to nearest even, as ONNX QuantizeLinear and DequantizeLinear. What is not a number gives the
// zero_point. lo and hi are at most kMostLevel from the zero_point.
inline constexpr std::int32_t kMostLevel = (1 << 22) - 1;
struct UniformRule {
  float scale = 1;
  std::int32_t zero_point = 0;
  std::int32_t lo = -128;
  std::int32_t hi = 127;
};

// The UniformRule whose range is that of the tensor, each picture of it by itself (`per_picture`)
// or the batch as one, found at run time. Asymmetric: as ONNX DynamicQuantizeLinear, the range
// always with 0, 1 to 8 bits. Symmetric: scale max|x| / hi, lo = -hi, zero_point 0, 2 to 8 bits.
// What is not finite does not count for the range.
struct DynamicRule {
  int bits = 8;
  bool symmetric = false;
  bool per_picture = true;
};

// x / scale goes to the nearest number of a small float format, ties to even, and is multiplied by
// scale; beyond the format's largest number (and for infinity) it is the largest. NaN stays NaN.
struct FloatRule {
  enum class Format : std::uint8_t { kE4m3, kE5m2, kBfloat16, kFloat16, kTensorFloat32 };
  Format format = Format::kBfloat16;
  float scale = 1;
};

// sign(x) * scale * 2^e, e the integer nearest to log2(|x| / scale), at most hi; 0 where e is below
// lo, which is where |x| / scale is below 2^(lo - 0.5), and for NaN. -126 <= lo <= hi <= 127.
struct Log2Rule {
  float scale = 1;
  std::int32_t lo = -7;
  std::int32_t hi = 0;
};

using TensorRule = std::variant<UniformRule, DynamicRule, FloatRule, Log2Rule>;

}  // namespace qsim
