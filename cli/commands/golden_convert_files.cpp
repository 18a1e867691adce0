#include "cli/commands/golden_convert_files.h"

#include <cmath>

namespace qsim::cli {

golden::Quantization quantization_of(const ConvertOptions& options) {
  golden::Quantization how;
  if (!options.preset.empty()) {
    how = golden::preset(options.preset);
  } else {
    using enum golden::ScaleFormat;
    how.group = options.group == "token"    ? golden::kPerToken
                : options.group == "tensor" ? golden::kPerTensor
                                            : std::stoll(options.group);
    how.scales = options.scales == "fp32" ? kFp32 : options.scales == "e4m3" ? kE4m3 : kUe8m0;
    using enum golden::PowerRounding;
    how.scale_rounding = options.scale_rounding == "floor"  ? kFloor
                         : options.scale_rounding == "ceil" ? kCeil
                                                            : kHalfUp;
  }
  const golden::ElementFormat from = golden::element_format_of(options.from);
  if (!golden::is_source(from)) {
    how.format = from;
  } else if (!options.to.empty()) {
    how.format = golden::element_format_of(options.to);
  }
  if (options.scale_order == "column") how.order = golden::ScaleOrder::kColumnMajor;
  how.zero_point = options.zero_point;
  if (options.clip) how.clip_value = static_cast<float>(*options.clip);
  if (options.clip_percentile) how.clip_percentile = std::llround(*options.clip_percentile * 1e4);
  how.stochastic = options.stochastic;
  how.seed = options.seed;
  golden::check(how);
  return how;
}

golden::VectorPath path_of(const std::string& name) {
  for (const golden::VectorPath path : golden::kVectorPaths) {
    if (golden::vector_path_name(path) == name) return path;
  }
  return golden::VectorPath::kAuto;
}

Shape scale_shape(const golden::QuantizedTensor& q) {
  const golden::GroupLayout layout = golden::group_layout(q.shape, q.how);
  if (layout.per_tensor) return {1};
  if (layout.order == golden::ScaleOrder::kColumnMajor) return {layout.groups_per_row, layout.rows};
  return {layout.rows, layout.groups_per_row};
}

void write_scales(const ConvertOptions& options, const golden::QuantizedTensor& q) {
  const Shape shape = scale_shape(q);
  if (q.how.scales == golden::ScaleFormat::kFp32) {
    write_array(options.out_scales, formats::kNpyFloat32, shape, q.scales);
  } else {
    write_array(options.out_scales, formats::kNpyUint8, shape, q.scale_codes);
  }
  write_array(options.out_zero_points, formats::kNpyInt8, q.how.zero_point ? shape : Shape{0},
              q.zero_points);
}

}  // namespace qsim::cli
