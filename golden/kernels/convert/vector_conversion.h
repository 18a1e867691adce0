// The innermost loops of the optimised conversions, once per instruction set. Each set computes the
// bits of golden/kernels/convert/group_arithmetic.h, to nearest; it expects a FloatEnvironment.
//
// Elements come in slots of 16 that have one scale. Each array of slots has kSpareSlots more than
// the elements fill, with any finite numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "golden/common/vector_path.h"
#include "golden/kernels/convert/scale_rule.h"

namespace qsim::golden {

inline constexpr std::size_t kSlot = 16;
inline constexpr std::size_t kSpareSlots = 4;

// The scales of the groups of a span: each array has kSpareScales more than there are groups.
inline constexpr std::size_t kSpareScales = 16;
struct ScaleArrays {
  float* scales;
  float* reciprocals;         // rounded to nearest
  std::int32_t* zero_points;  // 0 for symmetric ones
  std::int32_t* codes;        // of UE8M0 and E4M3
};

// How an element is divided by its scale.
enum class Division : std::uint8_t {
  kQuotient,    // by a division, whatever the elements are
  kReciprocal,  // the same of finite elements whose quotients are below 2^17: by the reciprocal,
                // and a correction (quotient_by_reciprocal)
  kPower        // finite elements times the reciprocal of a power of two, which is exact
};

struct EncodeJob {
  const std::uint16_t* x;
  std::size_t count;
  Division division;
  const float* scales;  // these three: a slot
  const float* reciprocals;
  const std::int32_t* zero_points;
  IntegerRange range;  // of integers
  std::uint8_t* out;   // packed formats: (count + 1) / 2 bytes
};

struct DecodeJob {
  const std::uint8_t* q;
  std::size_t count;
  std::size_t group;     // elements that share a factor, a multiple of kSlot
  bool finite;           // all factors are
  const float* factors;  // these two: a slot
  const std::int32_t* zero_points;
  void* out;  // std::uint16_t of FP16 and BF16, std::uint8_t of FP8
};

struct ConversionKernels {
  // The extents of the groups of `group` elements of x[0..count), the last one of what is left;
  // codes from `infinity` on do not count. Returns whether there are none.
  bool (*extents)(const std::uint16_t* x, std::size_t count, std::size_t group,
                  std::uint16_t infinity, bool both, Extent* out);
  // The scales of `count` extents; reads and writes kSpareScales more.
  void (*scales)(const ScaleRule& rule, const Extent* extents, std::size_t count,
                 const ScaleArrays& out);
  void (*encode)(ElementFormat source, ElementFormat target, const EncodeJob& job);
  // target: kHalf or kBfloat16
  void (*decode)(ElementFormat source, ElementFormat target, const DecodeJob& job);
  // INT4 to kE4m3 or kE5m2: rn8((code - zero_point) * factor)
  void (*int4_to_fp8)(ElementFormat target, const DecodeJob& job);
};

extern const ConversionKernels kPortableConversions;
#if defined(__x86_64__)
extern const ConversionKernels kAvx2Conversions;    // and F16C, which all AVX2 processors have
extern const ConversionKernels kAvx512Conversions;  // F, BW and VL
#endif

// The kernels of a path (kAuto: the best available). Throws Error when this processor lacks them.
const ConversionKernels& conversion_kernels(VectorPath path);

// Calls visit(constant): the quantized `format` as a std::integral_constant.
template <typename Visit>
void visit_target(ElementFormat format, Visit visit) {
  switch (format) {
    case ElementFormat::kInt8:
      return visit(std::integral_constant<ElementFormat, ElementFormat::kInt8>());
    case ElementFormat::kE4m3:
      return visit(std::integral_constant<ElementFormat, ElementFormat::kE4m3>());
    case ElementFormat::kE5m2:
      return visit(std::integral_constant<ElementFormat, ElementFormat::kE5m2>());
    case ElementFormat::kInt4:
      return visit(std::integral_constant<ElementFormat, ElementFormat::kInt4>());
    default:
      return visit(std::integral_constant<ElementFormat, ElementFormat::kE2m1>());
  }
}

// The same for kHalf and kBfloat16.
template <typename Visit>
void visit_half(ElementFormat format, Visit visit) {
  if (format == ElementFormat::kHalf)
    return visit(std::integral_constant<ElementFormat, ElementFormat::kHalf>());
  return visit(std::integral_constant<ElementFormat, ElementFormat::kBfloat16>());
}

}  // namespace qsim::golden
