// `qsim golden quantize`: the weights of a linear layer to integers and scales, as files.
#include <cmath>
#include <cstring>

#include "cli/commands/commands.h"
#include "cli/session/inputs/model_source.h"
#include "cli/session/linear/linear_source.h"
#include "formats/traces/npy.h"
#include "report/text_table.h"

namespace qsim::cli {
namespace {

// No file where the name is empty.
template <typename T>
void write_array(Context& context, const std::string& file, const formats::NpyType& type,
                 Shape shape, const std::vector<T>& elements) {
  if (file.empty()) return;
  std::string content = formats::npy_array_header(type.descr, shape);
  content.append(reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(T));
  context.write_file(file, content);
}

struct IntegerOptions : ConfigOption, WeightOptions {
  std::string out, out_scales, out_zero_points;  // files; "": none
};

void declare_golden_quantize(Declarations& declared, IntegerOptions& options) {
  declare_config(declared, options);
  declare_weights(declared, options, "float32 or float16").required();
  declare_weight_form(declared, options);
  declared.flag("--symmetric", options.symmetric, "4 bits with each zero_point 8");
  declared.output_file("--out-scales", options.out_scales, "write the scales as a .npy of float32");
  declared.output_file("--out-zero-points", options.out_zero_points,
                       "write the zero_points of 4 bits as a .npy of uint8");
  declared.output_file("--out", options.out, "write the codes [N, K] as a .npy of int8");
}

// The largest magnitude of weight minus scale times (value minus zero_point), and the root of the
// sum of its squares over the sum of the weights' squares.
struct QuantizationError {
  double largest = 0;
  double nrmse = 0;
};

QuantizationError error_of(const LinearSource& source) {
  const golden::LinearWeights& weights = source.weights;
  const auto columns = static_cast<std::size_t>(weights.in_features);
  const auto elems = static_cast<std::size_t>(weights.group_elems());
  const auto groups = static_cast<std::size_t>(weights.groups());
  QuantizationError result;
  double errors = 0;
  double squares = 0;
  for (std::size_t i = 0; i < weights.values.size(); ++i) {
    const std::size_t channel = i / columns;
    const std::size_t group = i % columns / elems;
    const int level = weights.values[i] - weights.zero_point(channel, group);
    const double scale = weights.scales[channel * groups + group];
    const double error = source.float_weights[i] - level * scale;
    result.largest = std::max(result.largest, std::abs(error));
    errors += error * error;
    squares += static_cast<double>(source.float_weights[i]) * source.float_weights[i];
  }
  if (squares > 0) result.nrmse = std::sqrt(errors / squares);
  return result;
}

report::Sheet sheet_of(const LinearSource& source, bool json) {
  const golden::LinearWeights& weights = source.weights;
  const QuantizationError error = error_of(source);
  report::Sheet sheet;
  sheet.schema = "qsim.golden-quantize/1";
  sheet.add("N", weights.out_features);
  sheet.add("K", weights.in_features);
  sheet.add("bits", std::int64_t{weights.bits});
  sheet.add("group", weights.group_size);
  sheet.add("max_error", error.largest);
  sheet.add("nrmse", error.nrmse);
  sheet.add("quantize_seconds", json ? report::Cell(source.quantize_seconds)
                                     : report::Cell(report::seconds_text(source.quantize_seconds)));
  return sheet;
}

ExitCode golden_quantize_command(Context& context, const IntegerOptions& options) {
  check_unused_config(options);
  const LinearSource source = load_quantized(options);
  const golden::LinearWeights& weights = source.weights;
  const Shape scales = {weights.out_features, weights.groups()};
  write_array(context, options.out, formats::kNpyInt8, {weights.out_features, weights.in_features},
              weights.values);
  write_array(context, options.out_scales, formats::kNpyFloat32, scales, weights.scales);
  write_array(context, options.out_zero_points, formats::kNpyUint8,
              weights.bits == 4 ? scales : Shape{0}, weights.zero_points);
  context.print_both([&](bool json) { return sheet_of(source, json); });
  return ExitCode::kOk;
}

constexpr const char* kGoldenQuantizeText = R"(
It writes what `--w` and `--scales` of `golden linear` read: 8 bits are -127 to 127, 4 bits 0 to 15 with zero_points. Its
keys are `N`, `K`, `bits`, `group`, `max_error`, `nrmse` and `quantize_seconds`.
)";

}  // namespace

const CommandRow kGoldenQuantizeCommand = {
    "golden quantize", "quantize the weights of a linear layer to 8 or 4 bits",
    command_of<IntegerOptions, declare_golden_quantize, golden_quantize_command>,
    kGoldenQuantizeText};

}  // namespace qsim::cli
