#include "golden/kernels/convert/group_scales.h"

namespace qsim::golden {

Rows::Rows(const HalfTensor& tensor)
    : data_(tensor.data), shape_(tensor.shape), strides_(tensor.strides) {
  if (strides_.empty()) {
    strides_.resize(shape_.size());
    std::int64_t stride = 1;
    for (std::size_t i = shape_.size(); i-- > 0;) {
      strides_[i] = stride;
      stride *= shape_[i];
    }
  }
  step_ = strides_.empty() ? 1 : strides_.back();
}

std::int64_t Rows::offset(std::int64_t row) const {
  std::int64_t offset = 0;
  for (std::size_t i = shape_.size(); i-- > 1;) {
    const std::int64_t extent = shape_[i - 1];
    offset += row % extent * strides_[i - 1];
    row /= extent;
  }
  return offset;
}

const std::uint16_t* Rows::read(std::int64_t row, std::int64_t first, std::int64_t count,
                                std::uint16_t* buffer) const {
  const std::uint16_t* start = data_ + offset(row) + first * step_;
  if (step_ == 1) return start;
  for (std::int64_t i = 0; i < count; ++i) buffer[i] = start[i * step_];
  return buffer;
}

void size_parts(const Shape& shape, const Quantization& how, QuantizedTensor& out) {
  const GroupLayout layout = group_layout(shape, how);
  const auto count = static_cast<std::size_t>(layout.scale_count);
  const bool codes = how.scales != ScaleFormat::kFp32;
  out.how = how;
  out.shape = shape;
  out.values.resize(static_cast<std::size_t>(layout.rows * layout.row_bytes));
  out.scales.resize(codes ? 0 : count);
  out.scale_codes.resize(codes ? count : 0);
  out.zero_points.resize(how.zero_point ? count : 0);
  out.global_scale = 1;
}

void store_scale(const GroupScale& scale, std::size_t index, QuantizedTensor& out) {
  if (out.how.scales == ScaleFormat::kFp32) {
    out.scales[index] = scale.scale;
  } else {
    out.scale_codes[index] = scale.code;
  }
  if (out.how.zero_point) out.zero_points[index] = static_cast<std::int8_t>(scale.zero_point);
}

GroupScale scale_at(const QuantizedTensor& q, std::size_t index) {
  GroupScale result;
  if (q.how.zero_point) result.zero_point = q.zero_points[index];
  if (q.how.scales == ScaleFormat::kFp32) {
    result.scale = q.scales[index];
    return result;
  }
  result.code = q.scale_codes[index];
  result.scale = q.how.scales == ScaleFormat::kUe8m0
                     ? float_of(ue8m0_decode(result.code))
                     : e4m3_scale_number(result.code, q.global_scale);
  return result;
}

void check_half_target(ElementFormat target) {
  if (is_source(target)) return;
  throw_bad_input("convert: " + std::string(element_format_name(target)) +
                  " is no target of a dequantization; allowed: fp16, bf16");
}

void check_int4_to_fp8(const Quantization& how, ElementFormat target, Int4ToFp8 what) {
  if (how.format != ElementFormat::kInt4) {
    throw_bad_input("convert: " + std::string(element_format_name(how.format)) +
                    " to FP8 is not defined; allowed: int4");
  }
  const bool e4m3 = target == ElementFormat::kE4m3;
  if (!e4m3 && target != ElementFormat::kE5m2) {
    throw_bad_input("convert: " + std::string(element_format_name(target)) +
                    " is no target of int4; allowed: fp8_e4m3, fp8_e5m2");
  }
  if (what == Int4ToFp8::kNumber && !e4m3 && how.zero_point) {
    throw_bad_input(
        "convert: fp8_e5m2 does not have each int4 minus a zero_point; allowed: fp8_e4m3, or the "
        "product with the scale");
  }
}

}  // namespace qsim::golden
