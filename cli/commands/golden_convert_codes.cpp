// `qsim golden convert` from quantized files: back to 16 bits, and INT4 to FP8.
#include <array>

#include "cli/commands/golden_convert_files.h"
#include "cli/session/engines/threads_note.h"
#include "core/base/checked_math.h"
#include "golden/kernels/convert/cuda/host_conversion.h"
#include "report/text_table.h"

namespace qsim::cli {
namespace {

using golden::ElementFormat;

template <typename T>
std::vector<T> elements_of(const formats::NpyArray& array) {
  std::vector<T> elements(array.bytes.size() / sizeof(T));
  std::memcpy(elements.data(), array.bytes.data(), array.bytes.size());
  return elements;
}

// The shape of the elements whose codes have the shape `codes` in the file.
Shape shape_of_codes(const ConvertOptions& convert, ElementFormat format, Shape codes) {
  if (!golden::is_packed(format) || codes.empty()) return codes;
  if (convert.odd_cols && codes.back() == 0) {
    throw_bad_input("--odd-cols: '" + convert.input + "' has the shape " + shape_text(codes) +
                    ", whose rows have no last element; leave the option out");
  }
  codes.back() = checked_mul(codes.back(), 2) - (convert.odd_cols ? 1 : 0);
  return codes;
}

// The scales, or the zero_points: as --out-scales writes them for this tensor.
template <typename T>
std::vector<T> read_of_groups(const std::string& file, const formats::NpyType& type,
                              const golden::QuantizedTensor& q) {
  const formats::NpyArray array = formats::read_npy_array(file, {&type, 1});
  const Shape needed = scale_shape(q);
  if (array.shape != needed) {
    throw_bad_input("convert: '" + file + "' has the shape " + shape_text(array.shape) +
                    "; the groups of a tensor of shape " + shape_text(q.shape) + " need " +
                    shape_text(needed));
  }
  return elements_of<T>(array);
}

golden::QuantizedTensor read_codes(const ConvertOptions& convert) {
  if (convert.input.empty() || convert.in_scales.empty()) {
    throw_bad_input("convert: --from " + convert.from +
                    " reads quantized files; give --input and --in-scales");
  }
  golden::QuantizedTensor q;
  q.how = quantization_of(convert);
  if (q.how.scales == golden::ScaleFormat::kE4m3 && !convert.in_global_scale) {
    throw_bad_input("convert: e4m3 scales are times a global scale; give --in-global-scale");
  }
  constexpr std::array kBytes = {formats::kNpyUint8, formats::kNpyInt8};
  formats::NpyArray values = formats::read_npy_array(convert.input, kBytes);
  q.values = elements_of<std::uint8_t>(values);
  q.shape = shape_of_codes(convert, q.how.format, std::move(values.shape));
  if (q.how.scales == golden::ScaleFormat::kFp32) {
    q.scales = read_of_groups<float>(convert.in_scales, formats::kNpyFloat32, q);
  } else {
    q.scale_codes = read_of_groups<std::uint8_t>(convert.in_scales, formats::kNpyUint8, q);
  }
  if (!convert.in_zero_points.empty()) {
    q.how.zero_point = true;
    q.zero_points = read_of_groups<std::int8_t>(convert.in_zero_points, formats::kNpyInt8, q);
  }
  if (convert.in_global_scale) q.global_scale = *convert.in_global_scale;
  golden::check(q);
  return q;
}

void write_halves(Context& context, const ConvertOptions& options, const golden::QuantizedTensor& q,
                  ElementFormat target, bool on_gpu) {
  std::vector<std::uint16_t> halves;
  if (on_gpu) {
    golden::cuda::dequantize_on_gpu(q, target, halves);
  } else {
    golden::ThreadTeam team(static_cast<int>(options.threads));
    note_fewer_threads(context, options.threads, team.threads());
    golden::dequantize(q, target, team, path_of(options.vector), halves);
  }
  write_array(options.out,
              target == ElementFormat::kHalf ? formats::kNpyFloat16 : formats::kNpyUint16, q.shape,
              halves);
}

void write_fp8(Context& context, const ConvertOptions& options, const golden::QuantizedTensor& q,
               ElementFormat target, bool on_gpu) {
  const golden::Int4ToFp8 what =
      options.product ? golden::Int4ToFp8::kProduct : golden::Int4ToFp8::kNumber;
  std::vector<std::uint8_t> codes;
  if (on_gpu) {
    golden::cuda::int4_to_fp8_on_gpu(q, target, what, codes);
  } else {
    golden::ThreadTeam team(static_cast<int>(options.threads));
    note_fewer_threads(context, options.threads, team.threads());
    golden::int4_to_fp8(q, target, what, team, path_of(options.vector), codes);
  }
  write_array(options.out, formats::kNpyUint8, q.shape, codes);
  write_scales(options, q);
}

}  // namespace

ExitCode convert_codes(Context& context, const ConvertOptions& convert, bool on_gpu) {
  const golden::QuantizedTensor q = read_codes(convert);
  const ElementFormat target = golden::element_format_of(convert.to.empty() ? "fp16" : convert.to);
  if (golden::is_source(target)) {
    write_halves(context, convert, q, target, on_gpu);
  } else {
    write_fp8(context, convert, q, target, on_gpu);
  }
  report::Sheet sheet;
  sheet.schema = "qsim.golden-convert/1";
  sheet.add("from", convert.from);
  sheet.add("to", std::string(golden::element_format_name(target)));
  sheet.add("shape", shape_text(q.shape));
  sheet.add("scale_count", golden::group_layout(q.shape, q.how).scale_count);
  sheet.add("backend", std::string(on_gpu ? "cuda" : "cpu"));
  context.print(sheet);
  return ExitCode::kOk;
}

}  // namespace qsim::cli
