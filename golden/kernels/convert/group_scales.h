// Host rules that the plain and the optimised conversions share: where the elements of a tensor
// are, and what is stored of the scale of a group.
#pragma once

#include "golden/kernels/convert/conversion.h"
#include "golden/kernels/convert/vector_conversion.h"

namespace qsim::golden {

// The rows of a tensor, whatever its strides.
class Rows {
 public:
  explicit Rows(const HalfTensor& tensor);

  // Elements first..first + count - 1 of a row: where they are, or copied to `buffer` if they do
  // not follow each other.
  const std::uint16_t* read(std::int64_t row, std::int64_t first, std::int64_t count,
                            std::uint16_t* buffer) const;

 private:
  std::int64_t offset(std::int64_t row) const;

  const std::uint16_t* data_;
  Shape shape_;
  Shape strides_;
  std::int64_t step_;  // from an element of a row to the next
};

inline ScaleRule scale_rule(ElementFormat source, const Quantization& how) {
  return {source, how.format, how.scales, how.scale_rounding, how.zero_point, how.clip_value, 1};
}

// Sizes the parts of `out` for a tensor; a part of the right size keeps its memory.
void size_parts(const Shape& shape, const Quantization& how, QuantizedTensor& out);
void store_scale(const GroupScale& scale, std::size_t index, QuantizedTensor& out);
// The scale and zero_point of an index, of a checked tensor.
GroupScale scale_at(const QuantizedTensor& q, std::size_t index);

// Throw Error for targets that there are not.
void check_half_target(ElementFormat target);
void check_int4_to_fp8(const Quantization& how, ElementFormat target, Int4ToFp8 what);

}  // namespace qsim::golden
