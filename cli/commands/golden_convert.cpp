// `qsim golden convert`: a 16-bit tensor to 8 or 4 bits with a scale a group; the errors, the
// files, and how long it takes beside a copy of as many bytes.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "cli/commands/commands.h"
#include "cli/commands/golden_convert_files.h"
#include "cli/session/engines/golden_backend.h"
#include "cli/session/engines/threads_note.h"
#include "cli/session/inputs/model_source.h"
#include "core/random.h"
#include "files/npy.h"
#include "golden/convert/conversion.h"
#include "golden/convert/cuda/conversion_times.h"
#include "golden/convert/cuda/host_conversion.h"
#include "golden/convert/error_report.h"
#include "report/text_table.h"

namespace qsim {
namespace {

using golden::ElementFormat;

// A tensor and the bytes that it points to.
struct Source {
  std::vector<std::byte> bytes;
  golden::HalfTensor tensor;
};

NpyArray gaussian(const ConvertOptions& options, ElementFormat format, std::uint64_t seed) {
  Random random(seed);
  NpyArray array{"", {options.rows, options.cols}, {}};
  array.bytes.resize(static_cast<std::size_t>(options.rows * options.cols) * 2);
  for (std::size_t i = 0; i < array.bytes.size(); i += 2) {
    const double u = (static_cast<double>(random.next() >> 11) + 1) * 0x1.0p-53;
    const double v = static_cast<double>(random.next() >> 11) * 0x1.0p-53;
    const double number = std::sqrt(-2 * std::log(u)) * std::cos(2 * M_PI * v);
    const auto value = static_cast<float>(number);
    const std::uint16_t code = format == ElementFormat::kHalf ? golden::half_from_float(value)
                                                              : golden::bfloat16_from_float(value);
    std::memcpy(&array.bytes[i], &code, 2);
  }
  return array;
}

Source source_of(const Options& options) {
  const ElementFormat format = golden::element_format_of(options.convert.from);
  const NpyType type = format == ElementFormat::kHalf ? kNpyFloat16 : kNpyUint16;
  NpyArray array = options.convert.input.empty()
                       ? gaussian(options.convert, format, options.seed)
                       : read_npy_array(options.convert.input, {&type, 1});
  Source source;
  source.bytes = std::move(array.bytes);
  source.tensor = {format,
                   reinterpret_cast<const std::uint16_t*>(source.bytes.data()),
                   std::move(array.shape),
                   {}};
  return source;
}

void write_files(const Options& options, const golden::QuantizedTensor& q,
                 const std::vector<std::uint16_t>& back) {
  const ConvertOptions& convert = options.convert;
  const golden::GroupLayout layout = golden::group_layout(q.shape, q.how);
  Shape values = q.shape;
  if (!values.empty()) values.back() = layout.row_bytes;
  const bool is_int8 = q.how.format == ElementFormat::kInt8;
  write_array(options.program_out, is_int8 ? kNpyInt8 : kNpyUint8, values, q.values);
  write_scales(convert, q);
  write_array(convert.out_back, convert.from == "fp16" ? kNpyFloat16 : kNpyUint16, q.shape, back);
}

double median(std::vector<double> seconds) {
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
}

struct Times {
  double convert = 0, back = 0, copy = 0, back_copy = 0;
};

// Conversion, back and a copy in turn; the copy reads and writes as many bytes as the conversion.
Times measure(const Options& options, const Source& source, golden::ThreadTeam& team,
              golden::QuantizedTensor& q, std::vector<std::uint16_t>& back) {
  const golden::VectorPath path = path_of(options.convert.vector);
  const std::size_t bytes = (source.bytes.size() + q.values.size()) / 2;
  const std::vector<std::byte> from(bytes);
  std::vector<std::byte> to(bytes);
  const std::size_t piece = std::size_t{1} << 20;
  const std::size_t pieces = (bytes + piece - 1) / piece;
  const golden::Quantization how = q.how;
  std::vector<double> seconds[3];
  for (std::int64_t run = 0; run < options.convert.runs; ++run) {
    double taken[3] = {};
    timed(taken[0], [&] { golden::quantize(source.tensor, how, team, path, q); });
    timed(taken[1], [&] { golden::dequantize(q, source.tensor.format, team, path, back); });
    timed(taken[2], [&] {
      team.run(pieces, [&](std::size_t i) {
        std::memcpy(&to[i * piece], &from[i * piece], std::min(piece, bytes - i * piece));
      });
    });
    for (int i = 0; i < 3; ++i) seconds[i].push_back(taken[i]);
  }
  const double copy = median(seconds[2]);
  return {median(seconds[0]), median(seconds[1]), copy, copy};
}

Times measure_gpu(const Source& source, const golden::Quantization& how) {
  const golden::cuda::ConversionTimes times = golden::cuda::time_on_gpu(source.tensor, how);
  return {times.convert, times.back, times.copy, times.back_copy};
}

// `threads` 0: on a GPU.
void add_times(Sheet& sheet, const Times& times, int threads, bool json) {
  const auto number = [json](double seconds) {
    return json ? Cell(seconds) : Cell(seconds_text(seconds));
  };
  if (threads > 0) sheet.add("threads", std::int64_t{threads});
  sheet.add("seconds", number(times.convert));
  sheet.add("back_seconds", number(times.back));
  sheet.add("copy_seconds", number(times.copy));
  sheet.add("share_of_copy", times.copy / std::max(times.convert, 1e-12));
  sheet.add("back_share_of_copy", times.back_copy / std::max(times.back, 1e-12));
}

Sheet sheet_of(const golden::QuantizedTensor& q, const golden::ErrorReport& report,
               const std::string& from) {
  Sheet sheet;
  sheet.schema = "qsim.golden-convert/1";
  sheet.add("from", from);
  sheet.add("to", std::string(golden::element_format_name(q.how.format)));
  sheet.add("shape", shape_text(q.shape));
  sheet.add("scale_count", golden::group_layout(q.shape, q.how).scale_count);
  sheet.add("not_finite", report.not_finite);
  sheet.add("mean_relative_error", report.mean_relative);
  sheet.add("nrmse", report.nrmse);
  sheet.add("worst_nrmse", report.worst_nrmse);
  sheet.add("worst_row", report.worst_row);
  sheet.add("worst_group", report.worst_group);
  if (q.how.scales == golden::ScaleFormat::kE4m3) {
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", static_cast<double>(q.global_scale));
    sheet.add("global_scale", std::string(text));
  }
  return sheet;
}

}  // namespace

ExitCode golden_convert_command(Context& context) {
  const Options& options = context.options();
  check_unused_config(options);
  GoldenSelection golden("--backend", options.backend,
                         [&context](const std::string& line) { context.note(line); });
  const bool on_gpu = golden.backends().front() == GoldenBackend::kCuda;
  if (on_gpu) golden::use_device(golden_device().index);
  if (!golden::is_source(golden::element_format_of(options.convert.from))) {
    return convert_codes(context, on_gpu);
  }
  const golden::Quantization how = quantization_of(options);
  const golden::VectorPath path = path_of(options.convert.vector);
  golden::require_available(path);
  const Source source = source_of(options);
  golden::ThreadTeam team(static_cast<int>(options.convert.threads));
  note_fewer_threads(context, options.convert.threads, team.threads());
  golden::QuantizedTensor q;
  std::vector<std::uint16_t> back;
  if (on_gpu) {
    golden::cuda::quantize_on_gpu(source.tensor, how, q);
    golden::cuda::dequantize_on_gpu(q, source.tensor.format, back);
  } else {
    golden::quantize(source.tensor, how, team, path, q);
    golden::dequantize(q, source.tensor.format, team, path, back);
  }
  write_files(options, q, back);
  Sheet json = sheet_of(q, golden::error_report(source.tensor, q), options.convert.from);
  json.add("backend", golden.name());
  Sheet text = json;
  if (options.convert.bench) {
    const Times times = on_gpu ? measure_gpu(source, how) : measure(options, source, team, q, back);
    add_times(json, times, on_gpu ? 0 : team.threads(), true);
    add_times(text, times, on_gpu ? 0 : team.threads(), false);
  }
  context.print_json(sheet_json(json));
  context.print(sheet_text(text));
  return ExitCode::kOk;
}

}  // namespace qsim
