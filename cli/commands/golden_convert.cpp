// `qsim golden convert`: a 16-bit tensor to 8 or 4 bits with a scale a group; the errors, the
// files, and how long it takes beside a copy of as many bytes.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "cli/commands/commands.h"
#include "cli/commands/golden_convert_files.h"
#include "cli/session/engines/golden_backend.h"
#include "cli/session/engines/threads_note.h"
#include "cli/session/inputs/model_source.h"
#include "core/base/median.h"
#include "core/base/random.h"
#include "core/base/words.h"
#include "formats/traces/npy.h"
#include "golden/kernels/convert/conversion.h"
#include "golden/kernels/convert/cuda/conversion_times.h"
#include "golden/kernels/convert/cuda/host_conversion.h"
#include "golden/kernels/convert/error_report.h"
#include "report/text_table.h"

namespace qsim::cli {

using report::Sheet;
namespace {

using golden::ElementFormat;

Words group_words() {
  Words words;
  for (int group = 16; group <= 512; group += 16) words.push_back(std::to_string(group));
  words.insert(words.end(), {"token", "tensor"});
  return words;
}

std::vector<Need> needs_of(const ConvertOptions& options) {
  const bool halves = options.from == "fp16" || options.from == "bf16";
  const bool integers = options.from == "int8" || options.from == "int4";
  const bool packed = options.from == "int4" || options.from == "fp4_e2m1";
  const bool to_fp8 = options.to == "fp8_e4m3" || options.to == "fp8_e5m2";
  const bool e4m3_scales =
      options.preset.empty() ? options.scales == "e4m3" : options.preset == "nvfp4";
  const char* const from_halves = "--from fp16 or bf16";
  std::vector<Need> needs = {
      {"--in-scales", !halves, "--from int8, fp8_e4m3, fp8_e5m2, int4 or fp4_e2m1"},
      {"--in-zero-points", integers, "--from int8 or int4"},
      {"--in-global-scale", !halves && e4m3_scales, "quantized input with e4m3 scales"},
      {"--odd-cols", packed, "--from int4 or fp4_e2m1"},
      {"--product", options.from == "int4" && to_fp8, "--from int4 and --to fp8_e4m3 or fp8_e5m2"},
      {"--group", options.preset.empty(), "no --preset"},
      {"--scales", options.preset.empty(), "no --preset"},
      {"--scale-rounding", halves && options.preset.empty() && options.scales == "ue8m0",
       "--from fp16 or bf16, --scales ue8m0 and no --preset"},
      {"--rows", halves && options.input.empty(), "Gaussian numbers, which are without --input"},
      {"--cols", halves && options.input.empty(), "Gaussian numbers, which are without --input"},
      {"--out-scales", halves || to_fp8, "codes that --out writes"},
      {"--out-zero-points", halves || to_fp8, "codes that --out writes"},
  };
  for (const char* option :
       {"--zero-point", "--clip", "--clip-percentile", "--stochastic", "--out-back", "--bench"}) {
    needs.push_back({option, halves, from_halves});
  }
  needs.push_back({"--runs", options.bench, "--bench"});
  return needs;
}

void declare_definition(Declarations& declared, ConvertOptions& options) {
  declared.word("--from", options.from,
                {"fp16", "bf16", "int8", "fp8_e4m3", "fp8_e5m2", "int4", "fp4_e2m1"},
                "format of the input");
  declared.word("--to", options.to,
                {"fp16", "bf16", "int8", "fp8_e4m3", "fp8_e5m2", "int4", "fp4_e2m1"},
                "format of the output (default: fp8_e4m3, or the preset's; of quantized input "
                "fp16)");
  declared.word("--preset", options.preset, {"mxfp8", "mxfp8_e5m2", "mxfp4", "nvfp4"},
                "format, groups and scales of a published format");
  declared
      .word("--group", options.group, group_words(),
            "elements of a row that share a scale: a multiple of 16, token (a row) or tensor")
      .called("SIZE");
  declared.word("--scales", options.scales, {"fp32", "ue8m0", "e4m3"}, "format of the scales");
  declared.word("--scale-rounding", options.scale_rounding, {"floor", "ceil", "half_up"},
                "how ue8m0 scales become powers of two");
  declared.word("--scale-order", options.scale_order, {"row", "column"},
                "scales as [rows][groups] or [groups][rows]");
  declared.flag("--zero-point", options.zero_point, "int8 and int4 with a zero_point a group");
  declared.decimal("--clip", {0.000001, 1000000, 0}, options.clip,
                   "magnitudes above this do not count for the scales");
  declared.decimal("--clip-percentile", {0.0001, 100, 0}, options.clip_percentile,
                   "magnitudes above this percentile of a group do not count for its scale");
  declared.flag("--stochastic", options.stochastic, "round at random, by --seed");
}

void declare_quantized_input(Declarations& declared, ConvertOptions& options) {
  declared.input_file("--in-scales", options.in_scales, "the scales",
                      "the scales of quantized input, a .npy");
  declared.input_file("--in-zero-points", options.in_zero_points, "the zero points",
                      "its zero_points, a .npy of int8");
  declared.real("--in-global-scale", options.in_global_scale, "its global scale, with e4m3 scales");
  declared.flag("--odd-cols", options.odd_cols,
                "the last high nibble of its rows is no element (4-bit formats)");
  declared.flag("--product", options.product,
                "int4 to FP8: the number times its scale, in place of the number");
}

void declare_conversion(Declarations& declared, ConvertOptions& options) {
  declared.input_file(
      "--input", options.input, "the input",
      "a .npy of float16, or of uint16 (BF16's bits); without it, seeded Gaussian numbers");
  declared.number("--rows", {1, 1 << 20}, options.rows, "rows of the Gaussian numbers");
  declared.number("--cols", {1, 1 << 20}, options.cols, "elements of their rows");
  declared.number("--threads", {0, kMostThreads}, options.threads,
                  "threads; 0: one for each processor");
  declare_vector(declared, options.vector);
  declared.output_file("--out-scales", options.out_scales, "write the scales as a .npy");
  declared.output_file("--out-zero-points", options.out_zero_points,
                       "write the zero_points as a .npy");
  declared.output_file("--out-back", options.out_back,
                       "write the tensor that the codes give back, a .npy");
  declared.flag("--bench", options.bench, "time the conversion and back beside a copy");
  declared.number("--runs", {9, 100000}, options.runs, "repetitions of --bench");
}

void declare_convert(Declarations& declared, ConvertOptions& options) {
  declare_config(declared, options);
  declare_definition(declared, options);
  declare_quantized_input(declared, options);
  declare_conversion(declared, options);
  declare_backend(declared, options.backend, "golden backend");
  declared.seed(options.seed, "seed of the random numbers");
  declared.output_file("--out", options.out, "write the codes as a .npy");
  declared.check([&] { declared.require_needs(needs_of(options)); });
}

// A tensor and the bytes that it points to.
struct Source {
  std::vector<std::byte> bytes;
  golden::HalfTensor tensor;
};

formats::NpyArray gaussian(const ConvertOptions& options, ElementFormat format,
                           std::uint64_t seed) {
  Random random(seed);
  formats::NpyArray array{"", {options.rows, options.cols}, {}};
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

Source source_of(const ConvertOptions& options) {
  const ElementFormat format = golden::element_format_of(options.from);
  const formats::NpyType type =
      format == ElementFormat::kHalf ? formats::kNpyFloat16 : formats::kNpyUint16;
  formats::NpyArray array = options.input.empty()
                                ? gaussian(options, format, options.seed)
                                : formats::read_npy_array(options.input, {&type, 1});
  Source source;
  source.bytes = std::move(array.bytes);
  source.tensor = {format,
                   reinterpret_cast<const std::uint16_t*>(source.bytes.data()),
                   std::move(array.shape),
                   {}};
  return source;
}

void write_files(const ConvertOptions& convert, const golden::QuantizedTensor& q,
                 const std::vector<std::uint16_t>& back) {
  const golden::GroupLayout layout = golden::group_layout(q.shape, q.how);
  Shape values = q.shape;
  if (!values.empty()) values.back() = layout.row_bytes;
  const bool is_int8 = q.how.format == ElementFormat::kInt8;
  write_array(convert.out, is_int8 ? formats::kNpyInt8 : formats::kNpyUint8, values, q.values);
  write_scales(convert, q);
  write_array(convert.out_back, convert.from == "fp16" ? formats::kNpyFloat16 : formats::kNpyUint16,
              q.shape, back);
}

struct Times {
  double convert = 0, back = 0, copy = 0, back_copy = 0;
};

// Conversion, back and a copy in turn; the copy reads and writes as many bytes as the conversion.
Times measure(const ConvertOptions& options, const Source& source, golden::ThreadTeam& team,
              golden::QuantizedTensor& q, std::vector<std::uint16_t>& back) {
  const golden::VectorPath path = path_of(options.vector);
  const std::size_t bytes = (source.bytes.size() + q.values.size()) / 2;
  const std::vector<std::byte> from(bytes);
  std::vector<std::byte> to(bytes);
  const std::size_t piece = std::size_t{1} << 20;
  const std::size_t pieces = (bytes + piece - 1) / piece;
  const golden::Quantization how = q.how;
  std::vector<double> seconds[3];
  for (std::int64_t run = 0; run < options.runs; ++run) {
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
    return json ? report::Cell(seconds) : report::Cell(report::seconds_text(seconds));
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
    sheet.add("global_scale", number_text(static_cast<double>(q.global_scale), "%.9g"));
  }
  return sheet;
}

ExitCode golden_convert_command(Context& context, const ConvertOptions& options) {
  check_unused_config(options);
  GoldenSelection golden("--backend", options.backend, context.notes());
  const bool on_gpu = golden.backends().front() == GoldenBackend::kCuda;
  if (on_gpu) golden::use_device(golden_device().index);
  if (!golden::is_source(golden::element_format_of(options.from))) {
    return convert_codes(context, options, on_gpu);
  }
  const golden::Quantization how = quantization_of(options);
  const golden::VectorPath path = path_of(options.vector);
  golden::require_available(path);
  const Source source = source_of(options);
  golden::ThreadTeam team(static_cast<int>(options.threads));
  note_fewer_threads(context, options.threads, team.threads());
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
  Sheet json = sheet_of(q, golden::error_report(source.tensor, q), options.from);
  json.add("backend", golden.name());
  Sheet text = json;
  if (options.bench) {
    const Times times = on_gpu ? measure_gpu(source, how) : measure(options, source, team, q, back);
    add_times(json, times, on_gpu ? 0 : team.threads(), true);
    add_times(text, times, on_gpu ? 0 : team.threads(), false);
  }
  context.print_json(report::sheet_json(json));
  context.print(report::sheet_text(text));
  return ExitCode::kOk;
}

constexpr const char* kGoldenConvertText = R"(
[Convert](kernels.md#group-conversions) defines each bit. Quantized input needs the `--group`, `--scales`, `--scale-order` or `--preset` with
which it was written; it goes back to `fp16` or `bf16`, and `int4` also to FP8.

| key | meaning |
|---|---|
| `from`, `to`, `shape`, `scale_count`, `backend`, `global_scale` | the last with `e4m3` scales |
| `not_finite`, `mean_relative_error`, `nrmse` | elements without an error; the mean of abs(x' - x) / abs(x); the root of squared errors over squares |
| `worst_nrmse`, `worst_row`, `worst_group` | of the worst group |
| `threads`, `seconds`, `back_seconds`, `copy_seconds`, `share_of_copy`, `back_share_of_copy` | of `--bench`: medians, and the share of a copy's rate |
)";

}  // namespace

const CommandRow kGoldenConvertCommand = {
    "golden convert", "convert a 16-bit tensor to 8 or 4 bits with a scale a group",
    command_of<ConvertOptions, declare_convert, golden_convert_command>, kGoldenConvertText};

}  // namespace qsim::cli
