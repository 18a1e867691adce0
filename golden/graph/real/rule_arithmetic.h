// Parts of the rules of real_rules.h.
#pragma once

#include <cstdint>

#include "golden/common/float_formats.h"
#include "golden/graph/real/real_rules.h"

namespace qsim::golden {

// The finite numbers of some values, widened to have 0.
struct FiniteRange {
  float lo = 0;
  float hi = 0;
};
FiniteRange widened(const FiniteRange& a, const FiniteRange& b);

UniformRule uniform_rule(const DynamicRule& rule, const FiniteRange& range);

// What overflows is the largest number.
QSIM_HOST_DEVICE constexpr FloatFormat saturating(FloatFormat format) {
  format.overflow = format.largest;
  return format;
}
inline constexpr FloatFormat kTf32{8, 10, 0x3FBFF, 0x3FBFF, 0x3FE00, true, true};

template <FloatFormat format>
QSIM_HOST_DEVICE float nearest(float x) {
  return float_of(decode<format>(encode<saturating(format)>(bits_of(x))));
}

// Calls visit.template operator()<format>() with the format's constants.
template <typename Visit>
auto visit_format(FloatRule::Format format, Visit visit) {
  switch (format) {
    case FloatRule::Format::kE4m3:
      return visit.template operator()<kFp8E4m3>();
    case FloatRule::Format::kE5m2:
      return visit.template operator()<kFp8E5m2>();
    case FloatRule::Format::kBfloat16:
      return visit.template operator()<kBf16>();
    case FloatRule::Format::kFloat16:
      return visit.template operator()<kFp16>();
    case FloatRule::Format::kTensorFloat32:
      break;
  }
  return visit.template operator()<kTf32>();
}

// The integer nearest to log2(x), of a positive finite number. No tie: a power of sqrt(2) is no
// float. 1.41421354 is the largest float32 below sqrt(2).
QSIM_HOST_DEVICE constexpr int nearest_log2(float x) {
  std::uint32_t bits = bits_of(x);
  int exponent = static_cast<int>(bits >> 23) - 127;
  if (bits < 0x800000) {  // subnormal: its leading 1 moves to bit 23
    exponent = -126;
    while ((bits & 0x800000) == 0) {
      bits <<= 1;
      --exponent;
    }
  }
  return exponent + ((bits & 0x7FFFFF) > (bits_of(1.41421354F) & 0x7FFFFF) ? 1 : 0);
}

}  // namespace qsim::golden
