// Names, presets, checks and layouts of group conversions.
#include "golden/kernels/convert/conversion.h"

#include <cmath>

#include "core/base/checked_math.h"

namespace qsim::golden {
namespace {

constexpr std::array<std::string_view, kElementFormats.size()> kNames = {
    "fp16", "bf16", "int8", "fp8_e4m3", "fp8_e5m2", "int4", "fp4_e2m1"};

void require_size(std::string_view what, std::size_t found, std::int64_t needed) {
  if (static_cast<std::int64_t>(found) == needed) return;
  throw_bad_input("convert: " + std::string(what) + " has " + std::to_string(found) +
                  " entries; its shape needs " + std::to_string(needed));
}

}  // namespace

std::string_view element_format_name(ElementFormat format) {
  return kNames[static_cast<std::size_t>(format)];
}

ElementFormat element_format_of(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return kElementFormats[i];
  }
  throw_bad_input("convert: format '" + std::string(name) +
                  "'; allowed: fp16, bf16, int8, fp8_e4m3, fp8_e5m2, int4, fp4_e2m1");
}

Quantization preset(std::string_view name) {
  Quantization how;
  how.group = 32;
  how.scales = ScaleFormat::kUe8m0;
  if (name == "mxfp8") return how;
  how.format = ElementFormat::kE5m2;
  if (name == "mxfp8_e5m2") return how;
  how.format = ElementFormat::kE2m1;
  if (name == "mxfp4") return how;
  how.group = 16;
  how.scales = ScaleFormat::kE4m3;
  if (name == "nvfp4") return how;
  throw_bad_input("convert: preset '" + std::string(name) +
                  "'; allowed: mxfp8, mxfp8_e5m2, mxfp4, nvfp4");
}

GroupLayout group_layout(const Shape& shape, const Quantization& how) {
  GroupLayout layout;
  const std::int64_t elems = element_count(shape);
  layout.cols = shape.empty() ? 1 : shape.back();
  layout.rows = 1;
  for (std::size_t i = 0; i + 1 < shape.size(); ++i) {
    layout.rows = checked_mul(layout.rows, shape[i]);
  }
  layout.per_tensor = how.group == kPerTensor;
  layout.group = how.group > 0 ? how.group : std::max<std::int64_t>(layout.cols, 1);
  layout.groups_per_row = (layout.cols + layout.group - 1) / layout.group;
  layout.row_bytes = is_packed(how.format) ? (layout.cols + 1) / 2 : layout.cols;
  layout.order = how.order;
  layout.scale_count =
      layout.per_tensor ? 1 : checked_mul(layout.rows, elems == 0 ? 0 : layout.groups_per_row);
  return layout;
}

void check(const Quantization& how) {
  if (is_source(how.format)) {
    throw_bad_input("convert: " + std::string(element_format_name(how.format)) +
                    " is no quantized format; allowed: int8, fp8_e4m3, fp8_e5m2, int4, fp4_e2m1");
  }
  const bool sized = how.group >= kLeastGroup && how.group <= kMostGroup && how.group % 16 == 0;
  if (!sized && how.group != kPerToken && how.group != kPerTensor) {
    throw_bad_input("convert: groups of " + std::to_string(how.group) +
                    "; allowed: multiples of 16 from 16 to 512, token and tensor");
  }
  if (how.zero_point && (!is_integer(how.format) || how.scales != ScaleFormat::kFp32)) {
    throw_bad_input(
        "convert: a zero_point needs int8 or int4 and fp32 scales; leave it out, or change them");
  }
  if (!(how.clip_value > 0))
    throw_bad_input("convert: the clip value is not above 0; allowed: above 0");
  if (how.clip_percentile < 1 || how.clip_percentile > kWhole) {
    throw_bad_input("convert: the clip percentile is " + std::to_string(how.clip_percentile) +
                    " parts per million; allowed: 1 to 1000000");
  }
}

void check(const HalfTensor& tensor) {
  if (!is_source(tensor.format)) {
    throw_bad_input("convert: " + std::string(element_format_name(tensor.format)) +
                    " is no 16-bit format; allowed: fp16, bf16");
  }
  if (!tensor.strides.empty() && tensor.strides.size() != tensor.shape.size()) {
    throw_bad_input("convert: strides of rank " + std::to_string(tensor.strides.size()) +
                    " for a tensor of rank " + std::to_string(tensor.shape.size()) +
                    "; give as many, or none");
  }
  element_count(tensor.shape);
}

void check(const QuantizedTensor& tensor) {
  check(tensor.how);
  const GroupLayout layout = group_layout(tensor.shape, tensor.how);
  const bool codes = tensor.how.scales != ScaleFormat::kFp32;
  require_size("the quantized tensor", tensor.values.size(),
               checked_mul(layout.rows, layout.row_bytes));
  require_size("its scales", codes ? tensor.scale_codes.size() : tensor.scales.size(),
               layout.scale_count);
  require_size("its zero_points", tensor.zero_points.size(),
               tensor.how.zero_point ? layout.scale_count : 0);
}

}  // namespace qsim::golden
