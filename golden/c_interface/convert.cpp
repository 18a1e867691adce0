// The C interface of golden/kernels/convert: group conversions.
#include "golden/c_interface/convert_views.h"
#include "golden/c_interface/threads.h"

namespace ci = qsim::golden::c_interface;

namespace qsim::golden::c_interface {
namespace {

// The formats of golden by qsim_dtype, and back.
struct FormatRow {
  std::int32_t dtype;
  ElementFormat format;
};
constexpr FormatRow kFormats[] = {
    {QSIM_FLOAT16, ElementFormat::kHalf},  {QSIM_BFLOAT16, ElementFormat::kBfloat16},
    {QSIM_INT8, ElementFormat::kInt8},     {QSIM_FP8_E4M3, ElementFormat::kE4m3},
    {QSIM_FP8_E5M2, ElementFormat::kE5m2}, {QSIM_INT4, ElementFormat::kInt4},
    {QSIM_FP4_E2M1, ElementFormat::kE2m1}};

std::int32_t dtype_of_format(ElementFormat format) {
  for (const FormatRow& row : kFormats) {
    if (row.format == format) return row.dtype;
  }
  return 0;
}

ElementFormat format_of(const Call& call, const char* field, std::int32_t dtype) {
  for (const FormatRow& row : kFormats) {
    if (row.dtype == dtype && !is_source(row.format)) return row.format;
  }
  throw_bad_input(call.place(field) + " is " + std::string(type_name(dtype)) +
                  "; allowed: int8, fp8_e4m3, fp8_e5m2, int4, fp4_e2m1");
}

ScaleFormat scale_format_of(const Call& call, std::int32_t dtype) {
  switch (dtype) {
    case QSIM_FLOAT32:
      return ScaleFormat::kFp32;
    case QSIM_UE8M0:
      return ScaleFormat::kUe8m0;
    case QSIM_FP8_E4M3:
      return ScaleFormat::kE4m3;
    default:
      throw_bad_input(call.place("scale_format") + " is " + std::string(type_name(dtype)) +
                      "; allowed: float32, ue8m0, fp8_e4m3");
  }
}

std::int32_t dtype_of_scales(ScaleFormat format) {
  if (format == ScaleFormat::kFp32) return QSIM_FLOAT32;
  return format == ScaleFormat::kUe8m0 ? QSIM_UE8M0 : QSIM_FP8_E4M3;
}

void require_flag(const Call& call, const char* field, std::int32_t value) {
  if (value != 0 && value != 1) call.refuse_value(field, value, "0 and 1");
}

Quantization quantization_of(const Call& call, const qsim_quantization* how) {
  call.require("quantization", how);
  if (how->struct_bytes != sizeof *how) {
    throw_bad_input(
        call.place("quantization") + ": struct_bytes is " + std::to_string(how->struct_bytes) +
        "; expected sizeof(qsim_quantization), which is " + std::to_string(sizeof *how));
  }
  require_flag(call, "column_major", how->column_major);
  require_flag(call, "zero_point", how->zero_point);
  require_flag(call, "stochastic", how->stochastic);
  if (how->scale_rounding < QSIM_SCALE_FLOOR || how->scale_rounding > QSIM_SCALE_HALF_UP) {
    call.refuse_value("scale_rounding", how->scale_rounding, "0 to 2");
  }
  Quantization result;
  result.format = format_of(call, "format", how->format);
  result.group = how->group;
  result.scales = scale_format_of(call, how->scale_format);
  result.scale_rounding = static_cast<PowerRounding>(how->scale_rounding);
  result.order = how->column_major != 0 ? ScaleOrder::kColumnMajor : ScaleOrder::kRowMajor;
  result.zero_point = how->zero_point != 0;
  result.clip_value = how->clip_value;
  result.clip_percentile = how->clip_ppm;
  result.stochastic = how->stochastic != 0;
  result.seed = how->seed;
  check(result);
  return result;
}

void write(const Quantization& from, qsim_quantization& to) {
  to = {sizeof to,
        dtype_of_format(from.format),
        dtype_of_scales(from.scales),
        static_cast<std::int32_t>(from.scale_rounding),
        from.order == ScaleOrder::kColumnMajor ? 1 : 0,
        from.group,
        from.zero_point ? 1 : 0,
        from.stochastic ? 1 : 0,
        from.seed,
        from.clip_value,
        static_cast<std::int32_t>(from.clip_percentile)};
}

// Scales or zero_points: [rows, groups], [groups, rows], or the source's shape with groups last.
View per_group(Call& call, const char* what, const qsim_tensor* tensor, std::int32_t type,
               const Shape& shape, const GroupLayout& layout) {
  View view = call.dense_tensor(what, tensor, {type}, Call::kAnyRank);
  if (layout.per_tensor) {
    if (view.elems() != 1) view.require_shape({1});
    return view;
  }
  Shape of_source = shape;
  if (!of_source.empty()) of_source.back() = layout.groups_per_row;
  const bool by_row = layout.order == ScaleOrder::kRowMajor;
  if (by_row && view.shape == of_source) return view;
  view.require_shape(by_row ? Shape{layout.rows, layout.groups_per_row}
                            : Shape{layout.groups_per_row, layout.rows});
  return view;
}

QuantizedViews views_of(Call& call, const qsim_quantized* q, const Quantization& how,
                        const Shape* shape) {
  call.require("quantized", q);
  QuantizedViews views;
  views.values =
      call.dense_tensor("values", q->values, {dtype_of_format(how.format)}, Call::kAnyRank);
  if (shape != nullptr) views.values.require_shape(*shape);
  const GroupLayout layout = group_layout(views.values.shape, how);
  views.scales =
      per_group(call, "scales", q->scales, dtype_of_scales(how.scales), views.values.shape, layout);
  if (how.zero_point) {
    views.zero_points =
        per_group(call, "zero_points", q->zero_points, QSIM_INT8, views.values.shape, layout);
  }
  if (how.scales == ScaleFormat::kE4m3) {
    views.global_scale =
        call.dense_tensor("global_scale", q->global_scale, {QSIM_FLOAT32}, Call::kAnyRank);
    if (views.global_scale->elems() != 1) views.global_scale->require_shape({1});
  }
  return views;
}

QuantizedTensor tensor_of(const QuantizedViews& views, const Quantization& how) {
  QuantizedTensor q;
  q.how = how;
  q.shape = views.values.shape;
  q.values = views.values.values<std::uint8_t>();
  if (how.scales == ScaleFormat::kFp32) {
    q.scales = views.scales.values<float>();
  } else {
    q.scale_codes = views.scales.values<std::uint8_t>();
  }
  if (views.zero_points) q.zero_points = views.zero_points->values<std::int8_t>();
  if (views.global_scale) q.global_scale = views.global_scale->values<float>()[0];
  return q;
}

void store(const QuantizedTensor& q, const QuantizedViews& views) {
  views.values.store(q.values.data());
  if (q.how.scales == ScaleFormat::kFp32) {
    views.scales.store(q.scales.data());
  } else {
    views.scales.store(q.scale_codes.data());
  }
  if (views.zero_points) views.zero_points->store(q.zero_points.data());
  if (views.global_scale) views.global_scale->store(&q.global_scale);
}

}  // namespace
}  // namespace qsim::golden::c_interface

qsim_status qsim_quantization_default(qsim_quantization* how) {
  return ci::guarded([&] {
    const ci::Call call("quantization_default", nullptr);
    call.require("how", how);
    ci::write(qsim::golden::Quantization(), *how);
  });
}

qsim_status qsim_quantization_preset(const char* name, qsim_quantization* how) {
  return ci::guarded([&] {
    const ci::Call call("quantization_preset", nullptr);
    call.require("how", how);
    call.require("name", name);
    ci::write(qsim::golden::preset(name), *how);
  });
}

qsim_status qsim_quantized_sizes(const qsim_quantization* how, const int64_t* shape, int32_t rank,
                                 int64_t* rows, int64_t* groups, int64_t* value_bytes,
                                 int64_t* scale_count) {
  return ci::guarded([&] {
    ci::Call call("quantized_sizes", nullptr);
    const auto quantization = ci::quantization_of(call, how);
    // A tensor without memory has the checks of one.
    qsim_tensor tensor{nullptr, QSIM_FLOAT16, QSIM_CPU, 0, rank, shape, nullptr};
    alignas(8) static char somewhere[8];
    tensor.data = somewhere;
    const ci::View view = call.tensor("x", &tensor, {QSIM_FLOAT16}, ci::Call::kAnyRank);
    const auto layout = group_layout(view.shape, quantization);
    if (rows != nullptr) *rows = layout.rows;
    if (groups != nullptr) *groups = layout.groups_per_row;
    if (value_bytes != nullptr) *value_bytes = layout.rows * layout.row_bytes;
    if (scale_count != nullptr) *scale_count = layout.scale_count;
  });
}

qsim_status qsim_quantize(const qsim_tensor* x, const qsim_quantization* how,
                          const qsim_quantized* q, const qsim_run* run) {
  return ci::guarded([&] {
    ci::Call call("quantize", run);
    const auto quantization = ci::quantization_of(call, how);
    const ci::View from = call.tensor("x", x, {QSIM_FLOAT16, QSIM_BFLOAT16}, ci::Call::kAnyRank);
    const ci::QuantizedViews views = ci::views_of(call, q, quantization, &from.shape);
    qsim::golden::HalfTensor source;
    source.format = from.dtype == QSIM_FLOAT16 ? qsim::golden::ElementFormat::kHalf
                                               : qsim::golden::ElementFormat::kBfloat16;
    source.data = reinterpret_cast<const std::uint16_t*>(from.data);
    source.shape = from.shape;
    source.strides = from.strides;
    if (call.is_cuda()) return ci::quantize_on_device(call, source, quantization, views);
    if (call.answers_query(0)) return;
    ci::CallThreads threads(call.run());
    qsim::golden::QuantizedTensor result;
    quantize(source, quantization, threads.team(), qsim::golden::VectorPath::kAuto, result);
    ci::store(result, views);
  });
}

qsim_status qsim_dequantize(const qsim_quantized* q, const qsim_quantization* how,
                            const qsim_tensor* y, const qsim_run* run) {
  return ci::guarded([&] {
    ci::Call call("dequantize", run);
    const auto quantization = ci::quantization_of(call, how);
    const ci::QuantizedViews views = ci::views_of(call, q, quantization, nullptr);
    const ci::View to = call.tensor("y", y, {QSIM_FLOAT16, QSIM_BFLOAT16}, ci::Call::kAnyRank);
    to.require_shape(views.values.shape);
    const auto target = to.dtype == QSIM_FLOAT16 ? qsim::golden::ElementFormat::kHalf
                                                 : qsim::golden::ElementFormat::kBfloat16;
    if (call.is_cuda()) return ci::dequantize_on_device(call, views, quantization, target, to);
    if (call.answers_query(0)) return;
    ci::CallThreads threads(call.run());
    std::vector<std::uint16_t> numbers;
    dequantize(ci::tensor_of(views, quantization), target, threads.team(),
               qsim::golden::VectorPath::kAuto, numbers);
    to.store(numbers.data());
  });
}

qsim_status qsim_int4_to_fp8(const qsim_quantized* q, const qsim_quantization* how,
                             int32_t times_scale, const qsim_tensor* y, const qsim_run* run) {
  return ci::guarded([&] {
    ci::Call call("int4_to_fp8", run);
    const auto quantization = ci::quantization_of(call, how);
    ci::require_flag(call, "times_scale", times_scale);
    const ci::QuantizedViews views = ci::views_of(call, q, quantization, nullptr);
    const ci::View to =
        call.dense_tensor("y", y, {QSIM_FP8_E4M3, QSIM_FP8_E5M2}, ci::Call::kAnyRank);
    to.require_shape(views.values.shape);
    const auto target = ci::format_of(call, "y", to.dtype);
    const auto what =
        times_scale != 0 ? qsim::golden::Int4ToFp8::kProduct : qsim::golden::Int4ToFp8::kNumber;
    if (call.is_cuda()) {
      return ci::int4_to_fp8_on_device(call, views, quantization, target, what, to);
    }
    if (call.answers_query(0)) return;
    ci::CallThreads threads(call.run());
    std::vector<std::uint8_t> codes;
    int4_to_fp8(ci::tensor_of(views, quantization), target, what, threads.team(),
                qsim::golden::VectorPath::kAuto, codes);
    to.store(codes.data());
  });
}
