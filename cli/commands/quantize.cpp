// `qsim quantize`: a float network and pictures to an int8 network, and what that cost each layer.
#include <algorithm>
#include <filesystem>
#include <set>

#include "cli/commands/commands.h"
#include "cli/commands/quantize_inputs.h"
#include "cli/commands/quantize_modes.h"
#include "cli/session/engines/threads_note.h"
#include "cli/session/inputs/model_source.h"
#include "cli/session/inputs/picture_set.h"
#include "cli/session/quantize/bit_search.h"
#include "cli/session/quantize/hosted_quantizing.h"
#include "cli/session/quantize/quantization_result.h"
#include "cli/session/quantize/quantize_files.h"
#include "cli/session/quantize/scales_file.h"
#include "cli/session/quantize/scheme.h"
#include "formats/files/files.h"
#include "formats/onnx/exporter/onnx_exporter.h"
#include "formats/onnx/importer/real_importer.h"
#include "formats/settings/sidecar.h"
#include "quantize/correction.h"
#include "quantize/equalization.h"
#include "quantize/given_scales.h"
#include "report/text_table.h"

namespace qsim::cli {

using report::with_thousands;
namespace {

namespace fs = std::filesystem;

class Quantizing {
 public:
  Quantizing(Context& context, const QuantizeOptions& options)
      : context_(context), own_(options), team_(static_cast<int>(own_.threads)) {
    note_fewer_threads(context_, own_.threads, team_.threads());
  }

  // Before run(). Throws Error (exit code 4) for a network that a Graph does not hold.
  void import() {
    phase(result_.seconds, "import", [&] { read_inputs(); });
  }

  QuantizationResult run() {
    phase(result_.seconds, "calibrate", [&] { calibrate(); });
    if (!own_.mixed_precision.empty()) phase(result_.seconds, "search", [&] { search(); });
    phase(result_.seconds, "quantize", [&] { quantize_network(); });
    phase(result_.seconds, "correct", [&] { correct(); });
    phase(result_.seconds, "measure", [&] { measure(); });
    phase(result_.seconds, "write",
          [&] { result_.bytes = formats::onnx_bytes(result_.network, form()); });
    return std::move(result_);
  }

 private:
  formats::OnnxForm form() const {
    return own_.form == "qdq" ? formats::OnnxForm::kQdq : formats::OnnxForm::kQOperator;
  }

  void read_inputs() {
    QuantizeInputs inputs = read_quantize_inputs(context_, own_);
    result_.graph = std::move(inputs.graph);
    result_.float_bytes = inputs.float_bytes;
    pictures_.emplace(std::move(inputs.pictures));
    result_.pictures = pictures_->count();
    result_.scheme = scheme_of_options(own_, result_.graph);
    if (!own_.mixed_precision.empty()) {
      require_search_is_possible(own_, result_.scheme, *pictures_);
    }
    read_scales();
  }

  void read_scales() {
    if (own_.scales.empty()) return;
    given_ = read_scales_file(own_.scales);
    const bool is_unsigned = has_unsigned_levels(given_, own_.scales);
    result_.scheme.all.activations.is_unsigned = is_unsigned;
    result_.scheme.input.activations.is_unsigned = is_unsigned;
    for (auto& [name, scheme] : result_.scheme.layers) scheme.activations.is_unsigned = is_unsigned;
  }

  quantize::CalibrationPictures pictures() { return calibration_of(*pictures_, team_); }

  std::function<void(std::int64_t)> progress(const char* what, std::int64_t all) {
    return [this, what, all](std::int64_t done) {
      context_.progress(std::string(what) + ": " + with_thousands(done) + " of " +
                        with_thousands(all) + " pictures");
    };
  }

  void calibrate() {
    const auto each = progress("calibrating", result_.pictures);
    result_.statistics = quantize::calibrate(result_.graph, pictures(), team_,
                                             [&](std::int64_t done) { each(done / 2); });
    const quantize::TensorStatistics& input = result_.statistics[result_.graph.input];
    if (input.min < input.max) return;
    throw_bad_input("the calibration pictures have one value alone, " + std::to_string(input.min) +
                    " after preprocessing; expected pictures");
  }

  void quantize_network() {
    result_.tensors = quantize::quantize_tensors(result_.graph, result_.statistics, result_.scheme);
    quantize::take_scales(result_.graph, given_, result_.tensors);
    decided_ = quantize::weights_at_scales(result_.graph, given_);
    // Also where corrections follow: what no integer layer computes is told before they begin.
    result_.network =
        quantize::quantize_network(result_.graph, result_.tensors, result_.scheme, decided_);
  }

  void search() {
    quantize_network();
    const BitSearch search{
        [&](const quantize::Scheme& scheme) { return corrected_network(scheme); },
        [&](const std::string& line) { context_.progress(line); }};
    FoundBits found = find_bits(result_.graph, result_.scheme, own_, *pictures_, search, team_);
    result_.scheme = std::move(found.scheme);
    result_.mixed_precision = std::move(found.report);
  }

  // Quantizes by a scheme of the same activations, with the corrections that the options ask for.
  QuantizedNetwork corrected_network(const quantize::Scheme& scheme) {
    if (!has_corrections(own_)) {
      return quantize::quantize_network(result_.graph, result_.tensors, scheme, decided_);
    }
    const auto on_layer = [&](const quantize::CorrectedLayer& layer) {
      context_.progress("corrected layer '" + result_.graph.layers[layer.layer].name + "'");
    };
    const quantize::CorrectedWeights corrected = quantize::correct_layers(
        result_.graph, result_.tensors, scheme, pictures(), corrections_of(own_), team_, on_layer);
    return quantize::quantize_network(result_.graph, result_.tensors, scheme, corrected.weights);
  }

  void correct() {
    if (has_corrections(own_)) result_.network = corrected_network(result_.scheme);
  }

  void measure() {
    result_.errors =
        quantize::measure_errors(result_.graph, result_.tensors, result_.network, pictures(), team_,
                                 progress("measuring", result_.pictures));
  }

  Context& context_;
  const QuantizeOptions& own_;
  golden::ThreadTeam team_;
  std::optional<PictureSet> pictures_;
  quantize::GivenScales given_;
  std::map<std::size_t, quantize::LayerWeights> decided_;
  QuantizationResult result_;
};

// What has a scale, and is rarely meant.
void note_what_is_dead(Context& context, const report::QuantizationReport& report) {
  for (const report::QuantizedLayerReport& layer : report.layers) {
    if (!layer.weights) continue;
    if (layer.weights->dead_channels > 0) {
      context.note("layer '" + layer.name + "': " + std::to_string(layer.weights->dead_channels) +
                   " output channels have no weight but 0");
    }
    if (layer.histogram.min == layer.histogram.max) {
      context.note("layer '" + layer.name + "': one value alone for all calibration pictures, " +
                   std::to_string(layer.histogram.min));
    }
  }
}

ExitCode quantize_command(Context& context, const QuantizeOptions& options) {
  check_unused_config(options);
  if (options.mode != "static") return quantize_in_mode(context, options);
  Quantizing quantizing(context, options);
  try {
    quantizing.import();
  } catch (const Error& refusal) {
    if (refusal.code() != ExitCode::kUnsupportedModel) throw;
    return quantize_hosted(context, options, refusal);
  }
  const QuantizationResult result = quantizing.run();
  const report::QuantizationReport report = report_of(result, options);
  note_what_is_dead(context, report);
  context.write_file(options.out, result.bytes);
  write_sidecar(context, options);
  if (!options.report.empty())
    context.write_file(options.report, report::quantization_page(report));
  context.print_json(report::quantization_json(report));
  context.print(quantization_table(report));
  if (result.mixed_precision) context.print(mixed_precision_text(*result.mixed_precision));
  context.print("\n" + options.out + ": " + with_thousands(report.quantized_bytes) + " bytes, of " +
                with_thousands(report.float_bytes) + "\n");
  const bool takes_pictures = formats::is_there(formats::sidecar_path(options.model));
  context.print(next_command(options, takes_pictures ? "PICTURE" : "INPUT.npy"));
  return ExitCode::kOk;
}

constexpr const char* kQuantizeText = R"(
[Quantize](quantize.md) says why one would give each option, and has the JSON (`qsim.quantize/1`). The other modes write
[files that golden alone runs](onnx.md); their JSON (`qsim.quantize-mode/1`) has `model`, `output`, `mode`, `pictures`,
`output_sqnr_db`, `float_bytes`, `quantized_bytes`, `seconds`, and `layers[]`: `layer`, `operation`, `weights_sqnr_db`,
`sqnr_db`, `cosine_distance`.
)";

}  // namespace

const CommandRow kQuantizeCommand = {
    "quantize", "quantize a float network by pictures, and say what each layer loses",
    command_of<QuantizeOptions, declare_quantize, quantize_command>, kQuantizeText};

}  // namespace qsim::cli
