// `qsim golden convert` from quantized files: back to 16 bits, and INT4 to FP8.
#include <array>

#include "cli/commands/golden_convert_files.h"
#include "cli/terminal/output_files.h"
#include "golden/convert/cuda/host_conversion.h"
#include "report/text_table.h"

namespace qsim {
namespace {

using golden::ElementFormat;

template <typename T>
std::vector<T> elements_of(const NpyArray& array) {
  std::vector<T> elements(array.bytes.size() / sizeof(T));
  std::memcpy(elements.data(), array.bytes.data(), array.bytes.size());
  return elements;
}

golden::QuantizedTensor read_codes(const Options& options) {
  const ConvertOptions& convert = options.convert;
  if (convert.input.empty() || convert.in_scales.empty()) {
    throw_bad_input("convert: --from " + convert.from +
                    " reads quantized files; give --input and --in-scales");
  }
  golden::QuantizedTensor q;
  q.how = quantization_of(options);
  if (q.how.scales == golden::ScaleFormat::kE4m3 && !convert.in_global_scale) {
    throw_bad_input("convert: e4m3 scales are times a global scale; give --in-global-scale");
  }
  constexpr std::array kBytes = {kNpyUint8, kNpyInt8};
  NpyArray values = read_npy_array(convert.input, kBytes);
  q.values = elements_of<std::uint8_t>(values);
  q.shape = std::move(values.shape);
  if (golden::is_packed(q.how.format) && !q.shape.empty()) {
    q.shape.back() = 2 * q.shape.back() - (convert.odd_cols ? 1 : 0);
  }
  const bool codes = q.how.scales != golden::ScaleFormat::kFp32;
  const NpyArray scales = read_npy_array(convert.in_scales, {codes ? &kNpyUint8 : &kNpyFloat32, 1});
  if (codes) {
    q.scale_codes = elements_of<std::uint8_t>(scales);
  } else {
    q.scales = elements_of<float>(scales);
  }
  if (!convert.in_zero_points.empty()) {
    q.how.zero_point = true;
    q.zero_points =
        elements_of<std::int8_t>(read_npy_array(convert.in_zero_points, {&kNpyInt8, 1}));
  }
  if (convert.in_global_scale) q.global_scale = *convert.in_global_scale;
  golden::check(q);
  return q;
}

void write_halves(const Options& options, const golden::QuantizedTensor& q, ElementFormat target,
                  bool on_gpu) {
  std::vector<std::uint16_t> halves;
  if (on_gpu) {
    golden::cuda::dequantize_on_gpu(q, target, halves);
  } else {
    golden::ThreadTeam team(static_cast<int>(options.convert.threads));
    golden::dequantize(q, target, team, path_of(options.convert.vector), halves);
  }
  write_array(options.program_out, target == ElementFormat::kHalf ? kNpyFloat16 : kNpyUint16,
              q.shape, halves);
}

void write_fp8(const Options& options, const golden::QuantizedTensor& q, ElementFormat target,
               bool on_gpu) {
  const golden::Int4ToFp8 what =
      options.convert.product ? golden::Int4ToFp8::kProduct : golden::Int4ToFp8::kNumber;
  std::vector<std::uint8_t> codes;
  if (on_gpu) {
    golden::cuda::int4_to_fp8_on_gpu(q, target, what, codes);
  } else {
    golden::ThreadTeam team(static_cast<int>(options.convert.threads));
    golden::int4_to_fp8(q, target, what, team, path_of(options.convert.vector), codes);
  }
  write_array(options.program_out, kNpyUint8, q.shape, codes);
  write_scales(options.convert, q);
}

}  // namespace

ExitCode convert_codes(Context& context, bool on_gpu) {
  const Options& options = context.options();
  const ConvertOptions& convert = options.convert;
  for (const std::string& file : {convert.in_scales, convert.in_zero_points}) {
    if (!file.empty()) require_not_written(options, file, "the input");
  }
  const golden::QuantizedTensor q = read_codes(options);
  const ElementFormat target = golden::element_format_of(convert.to.empty() ? "fp16" : convert.to);
  if (golden::is_source(target)) {
    write_halves(options, q, target, on_gpu);
  } else {
    write_fp8(options, q, target, on_gpu);
  }
  Sheet sheet;
  sheet.schema = "qsim.golden-convert/1";
  sheet.add("from", convert.from);
  sheet.add("to", std::string(golden::element_format_name(target)));
  sheet.add("shape", shape_text(q.shape));
  sheet.add("scale_count", golden::group_layout(q.shape, q.how).scale_count);
  sheet.add("backend", std::string(on_gpu ? "cuda" : "cpu"));
  context.print_json(sheet_json(sheet));
  context.print(sheet_text(sheet));
  return ExitCode::kOk;
}

}  // namespace qsim
