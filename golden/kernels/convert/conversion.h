// Group conversions: FP16 and BF16 tensors to INT8, FP8, INT4 and FP4 with one scale a group, and
// back; INT4 to FP8. A plain reference and an optimised path give the same bits.
// docs/reference/kernels.md defines each result.
#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/tensor.h"
#include "golden/common/thread_team.h"
#include "golden/common/vector_path.h"
#include "golden/kernels/convert/scale_rule.h"

namespace qsim::golden {

inline constexpr std::array kElementFormats = {
    ElementFormat::kHalf, ElementFormat::kBfloat16, ElementFormat::kInt8, ElementFormat::kE4m3,
    ElementFormat::kE5m2, ElementFormat::kInt4,     ElementFormat::kE2m1};

// "fp16", "bf16", "int8", "fp8_e4m3", "fp8_e5m2", "int4", "fp4_e2m1"
std::string_view element_format_name(ElementFormat format);
// Throws Error for another name.
ElementFormat element_format_of(std::string_view name);

constexpr bool is_source(ElementFormat format) { return format <= ElementFormat::kBfloat16; }
constexpr bool is_integer(ElementFormat format) {
  return format == ElementFormat::kInt8 || format == ElementFormat::kInt4;
}
constexpr bool is_packed(ElementFormat format) { return format >= ElementFormat::kInt4; }

// Where the scale of row r and group g of that row is: [rows][groups] or [groups][rows].
enum class ScaleOrder : std::uint8_t { kRowMajor, kColumnMajor };

inline constexpr std::int64_t kPerToken = 0;    // one group a row
inline constexpr std::int64_t kPerTensor = -1;  // one group
inline constexpr std::int64_t kLeastGroup = 16;
inline constexpr std::int64_t kMostGroup = 512;

// How a tensor is quantized. A row is the last dimension; a group is `group` elements of it that
// follow each other, the last one of a row what is left.
struct Quantization {
  ElementFormat format = ElementFormat::kE4m3;
  std::int64_t group = 128;  // a multiple of 16 from 16 to 512, or kPerToken or kPerTensor
  ScaleFormat scales = ScaleFormat::kFp32;
  PowerRounding scale_rounding = PowerRounding::kFloor;  // of UE8M0
  ScaleOrder order = ScaleOrder::kRowMajor;
  bool zero_point = false;  // integers with FP32 scales alone
  // Magnitudes above these do not count for the scale, and saturate: a fixed one, and the
  // percentile of the group's finite magnitudes by nearest rank, in parts per million.
  float clip_value = std::numeric_limits<float>::infinity();
  std::int64_t clip_percentile = kWhole;
  bool stochastic = false;  // otherwise to nearest, ties to even
  std::uint64_t seed = 0;   // of stochastic rounding
};

// "mxfp8", "mxfp8_e5m2", "mxfp4" (OCP MX 1.0), "nvfp4". Throws Error for another name.
Quantization preset(std::string_view name);

// A tensor of 16-bit codes. Strides are in elements, of any sign; none means contiguous, row-major.
struct HalfTensor {
  ElementFormat format = ElementFormat::kHalf;  // or kBfloat16
  const std::uint16_t* data = nullptr;
  Shape shape;
  Shape strides;
};

// A quantized tensor. Rows of packed formats begin at a byte; the last high nibble of an odd row
// is 0. Per tensor there is one scale.
struct QuantizedTensor {
  Quantization how;
  Shape shape;
  std::vector<std::uint8_t> values;       // [rows][row bytes]
  std::vector<float> scales;              // of kFp32
  std::vector<std::uint8_t> scale_codes;  // of kUe8m0 and kE4m3
  float global_scale = 1;                 // of kE4m3
  std::vector<std::int8_t> zero_points;   // as scales; empty without zero_point
};

// How a shape is divided into rows and groups.
struct GroupLayout {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t group = 0;           // elements of a full group of a row
  std::int64_t groups_per_row = 0;  // the last one may be shorter
  std::int64_t row_bytes = 0;
  std::int64_t scale_count = 0;
  bool per_tensor = false;
  ScaleOrder order = ScaleOrder::kRowMajor;

  std::size_t scale_index(std::int64_t row, std::int64_t group_of_row) const {
    if (per_tensor) return 0;
    return static_cast<std::size_t>(order == ScaleOrder::kRowMajor
                                        ? row * groups_per_row + group_of_row
                                        : group_of_row * rows + row);
  }
};
GroupLayout group_layout(const Shape& shape, const Quantization& how);

// Throw Error for what the definition does not have: a format, a group size, scales, a zero_point
// or clipping that is not allowed, strides of another rank; a quantized tensor whose parts do not
// fit its shape.
void check(const Quantization& how);
void check(const HalfTensor& tensor);
void check(const QuantizedTensor& tensor);

// The plain reference: one element after another.
QuantizedTensor quantize_reference(const HalfTensor& x, const Quantization& how);
// The same bits, on the team's threads with the vector instructions of `path`. Buffers of `out`
// that have the right size are used again.
void quantize(const HalfTensor& x, const Quantization& how, ThreadTeam& team, VectorPath path,
              QuantizedTensor& out);

// rn16(rn32(number * scale)), row-major, to kHalf or kBfloat16; overflow is infinity, each NaN the
// canonical one.
std::vector<std::uint16_t> dequantize_reference(const QuantizedTensor& q, ElementFormat target);
void dequantize(const QuantizedTensor& q, ElementFormat target, ThreadTeam& team, VectorPath path,
                std::vector<std::uint16_t>& out);

// INT4 to FP8, one byte an element, row-major. kNumber: code minus zero_point, exact in E4M3 (E5M2
// without zero_point); the scales stay with it. kProduct: rn8(rn32(number * scale)), saturating.
enum class Int4ToFp8 : std::uint8_t { kNumber, kProduct };
std::vector<std::uint8_t> int4_to_fp8_reference(const QuantizedTensor& q, ElementFormat target,
                                                Int4ToFp8 what);
void int4_to_fp8(const QuantizedTensor& q, ElementFormat target, Int4ToFp8 what, ThreadTeam& team,
                 VectorPath path, std::vector<std::uint8_t>& out);

}  // namespace qsim::golden
