// `qsim quantize` in a mode whose network golden alone runs.
#include "cli/commands/quantize_modes.h"

#include <filesystem>
#include <set>

#include "cli/commands/quantize_inputs.h"
#include "cli/session/engines/threads_note.h"
#include "cli/session/inputs/picture_set.h"
#include "cli/session/quantize/hybrid_result.h"
#include "cli/session/quantize/quantize_files.h"
#include "cli/session/quantize/scheme.h"
#include "formats/onnx/exporter/hybrid_exporter.h"
#include "formats/onnx/importer/real_importer.h"
#include "quantize/correction.h"
#include "quantize/equalization.h"
#include "quantize/fake_network.h"
#include "quantize/hybrid.h"

namespace qsim::cli {
namespace {

namespace fs = std::filesystem;

HybridMode mode_of_word(const std::string& word) {
  if (word == "weight_only") return HybridMode::kWeightOnly;
  return word == "dynamic" ? HybridMode::kDynamic : HybridMode::kFake;
}

class ModeQuantizing {
 public:
  ModeQuantizing(Context& context, const QuantizeOptions& options)
      : context_(context),
        own_(options),
        mode_(mode_of_word(own_.mode)),
        team_(static_cast<int>(own_.threads)) {
    note_fewer_threads(context_, own_.threads, team_.threads());
  }

  HybridResult run() {
    phase(result_.seconds, "import", [&] { import(); });
    phase(result_.seconds, "calibrate", [&] { calibrate(); });
    phase(result_.seconds, "quantize", [&] { quantize(); });
    phase(result_.seconds, "measure", [&] {
      result_.errors = measure_hybrid(result_.graph, result_.network, pictures(), team_);
    });
    phase(result_.seconds, "write", [&] { result_.bytes = formats::onnx_bytes(result_.network); });
    return std::move(result_);
  }

 private:
  void import() {
    QuantizeInputs inputs = read_quantize_inputs(context_, own_);
    result_.graph = std::move(inputs.graph);
    result_.float_bytes = inputs.float_bytes;
    pictures_.emplace(std::move(inputs.pictures));
    result_.pictures = pictures_->count();
    scheme_ = scheme_of_options(own_, result_.graph);
    tensors_.resize(result_.graph.tensors.size());
  }

  quantize::CalibrationPictures pictures() { return calibration_of(*pictures_, team_); }

  // Only fake quantization calibrates: the other modes have no ranges that pictures choose.
  void calibrate() {
    if (mode_ != HybridMode::kFake) return;
    const auto statistics = quantize::calibrate(result_.graph, pictures(), team_);
    tensors_ = quantize::quantize_tensors(result_.graph, statistics, scheme_);
    rules_ = quantize::uniform_rules(tensors_);
    if (own_.activation_levels != "log2") return;
    const auto input = rules_[result_.graph.input];
    rules_ = quantize::log2_rules(tensors_, statistics, static_cast<int>(own_.activation_bits),
                                  scheme_.all.clipping.rule, scheme_.all.kind);
    rules_[result_.graph.input] = input;
    // No tensor has integers, so weights and biases are free of their limits.
    tensors_.assign(tensors_.size(), std::nullopt);
  }

  void quantize() {
    const auto weights = has_corrections(own_)
                             ? corrected()
                             : quantize::weights_of_layers(result_.graph, tensors_, scheme_);
    result_.network = quantize::hybrid_network(result_.graph, mode_, weights, rules_);
  }

  std::map<std::size_t, quantize::LayerWeights> corrected() {
    const auto on_layer = [&](const quantize::CorrectedLayer& layer) {
      context_.progress("corrected layer '" + result_.graph.layers[layer.layer].name + "'");
    };
    return quantize::correct_layers(result_.graph, tensors_, scheme_, pictures(),
                                    corrections_of(own_), team_, on_layer)
        .weights;
  }

  Context& context_;
  const QuantizeOptions& own_;
  HybridMode mode_;
  golden::ThreadTeam team_;
  std::optional<PictureSet> pictures_;
  quantize::Scheme scheme_;
  quantize::TensorQuantizations tensors_;
  std::vector<std::optional<TensorRule>> rules_;
  HybridResult result_;
};

}  // namespace

ExitCode quantize_in_mode(Context& context, const QuantizeOptions& options) {
  const HybridResult result = ModeQuantizing(context, options).run();
  context.write_file(options.out, result.bytes);
  write_sidecar(context, options);
  context.print_both([&](bool json) { return hybrid_sheet(result, options, json); });
  return ExitCode::kOk;
}

}  // namespace qsim::cli
