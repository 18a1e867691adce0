#include "cli/session/quantize/bit_search.h"

#include <algorithm>

#include "cli/session/schemes/scheme_results.h"
#include "cli/terminal/context.h"
#include "core/base/printable.h"
#include "core/base/words.h"
#include "quantize/mixed_precision.h"
#include "report/text_table.h"

namespace qsim::cli {
namespace {

using quantize::LayerSensitivity;
using quantize::MixedPrecision;
using quantize::MixedPrecisionStep;

// The first of the pictures; sensitivities are means, and need fewer than an accuracy does.
constexpr std::int64_t kSensitivityPictures = 64;

std::int64_t weights_of_all(const std::vector<LayerSensitivity>& layers) {
  std::int64_t sum = 0;
  for (const LayerSensitivity& layer : layers) sum += layer.weights;
  return std::max<std::int64_t>(sum, 1);
}

double bits_per_weight(std::int64_t weight_bits, const std::vector<LayerSensitivity>& layers) {
  return static_cast<double>(weight_bits) / static_cast<double>(weights_of_all(layers));
}

quantize::SensitivityRule rule_of(const QuantizeOptions& options) {
  using quantize::SensitivityRule;
  return options.mixed_precision == sensitivity_name(SensitivityRule::kTrace)
             ? SensitivityRule::kTrace
             : SensitivityRule::kMse;
}

// What `judges` count as right is a whole number, so limits are compared in pictures.
double pictures_needed(std::int64_t float_correct, std::int64_t pictures, double drop) {
  constexpr double kRounding = 1e-6;  // of the product; far less than a picture
  return static_cast<double>(float_correct) - drop * static_cast<double>(pictures) / 100 -
         kRounding;
}

report::MixedPrecisionReport report_of(const Graph& graph,
                                       const std::vector<LayerSensitivity>& layers,
                                       const MixedPrecision& found, double pictures) {
  report::MixedPrecisionReport report;
  for (const LayerSensitivity& layer : layers) {
    report::MixedPrecisionLayer own{
        graph.layers[layer.layer].name, layer.weights, found.bits.at(layer.layer), {}};
    for (const int bits : quantize::kWeightBits) {
      own.sensitivities.emplace_back(bits, layer.at.at(bits));
    }
    report.layers.push_back(std::move(own));
  }
  for (const MixedPrecisionStep& step : found.steps) {
    report::MixedPrecisionTrial trial;
    for (const auto& [layer, bits] : step.bits) trial.bits.push_back(bits);
    trial.bits_per_weight = bits_per_weight(step.weight_bits, layers);
    trial.top1 = step.accuracy / pictures;
    trial.is_within = step.is_enough;
    report.trials.push_back(std::move(trial));
  }
  report.top1 = found.accuracy / pictures;
  report.bits_per_weight = bits_per_weight(found.weight_bits, layers);
  return report;
}

void require_found(const report::MixedPrecisionReport& report, bool is_found) {
  if (is_found) return;
  throw Error(ExitCode::kUsage, "--drop " + number_text(report.drop, "%g") +
                                    ": with 8 bits in all layers " +
                                    number_text(100 * report.top1, "%.2f%%") + " of " +
                                    report::with_thousands(report.pictures) +
                                    " pictures are right, of the float network " +
                                    number_text(100 * report.float_top1, "%.2f%%") +
                                    "; give a larger --drop, or other options for the activations");
}

}  // namespace

void require_search_is_possible(const QuantizeOptions& options, const quantize::Scheme& scheme,
                                const PictureSet& pictures) {
  if (!pictures.has_labels()) {
    throw_bad_input(options.calibrate.front() +
                    ": the pictures have no labels, which --mixed-precision needs; give CIFAR-10 "
                    "batches or a folder of class folders");
  }
  for (const auto& [name, own] : scheme.layers) {
    if (own.weights.levels.bits == scheme.all.weights.levels.bits && !own.weights.log2) continue;
    throw_bad_input(options.layers + ": the layer '" + echoed(name) +
                    "' has weight_bits or weight_levels of its own, which --mixed-precision finds; "
                    "leave one out");
  }
}

FoundBits find_bits(const Graph& graph, const quantize::Scheme& scheme,
                    const QuantizeOptions& options, const PictureSet& pictures,
                    const BitSearch& search, golden::ThreadTeam& team) {
  double seconds_of_sensitivities = 0;
  double seconds = 0;
  const auto layers = timed(seconds_of_sensitivities, [&] {
    const auto sample = pictures.read(0, std::min(kSensitivityPictures, pictures.count()), team);
    return quantize::sensitivities(
        graph, scheme, sample, rule_of(options), team, [&](std::size_t done) {
          search.progress("sensitivities: " + std::to_string(done) + " layers");
        });
  });
  const Judges judges = make_judges(graph, pictures, team);
  const std::int64_t float_correct = correct_of(judges);
  const double drop = options.drop.value_or(kDefaultDrop);
  const auto evaluate = [&](const quantize::BitAssignment& bits) {
    const QuantizedNetwork network = search.quantize(with_weight_bits(graph, scheme, bits));
    return static_cast<double>(judge(network, judges, team).correct);
  };
  const auto count = static_cast<double>(pictures.count());
  const auto on_step = [&](const MixedPrecisionStep& step) {
    search.progress(number_text(bits_per_weight(step.weight_bits, layers), "%.2f bits a weight: ") +
                    number_text(100 * step.accuracy / count, "%.2f%% right"));
  };
  const MixedPrecision found = timed(seconds, [&] {
    return cheapest_assignment(layers, pictures_needed(float_correct, pictures.count(), drop),
                               evaluate, on_step);
  });
  FoundBits result{with_weight_bits(graph, scheme, found.bits),
                   report_of(graph, layers, found, count)};
  result.report.sensitivity = options.mixed_precision;
  result.report.drop = drop;
  result.report.pictures = pictures.count();
  result.report.float_top1 = static_cast<double>(float_correct) / count;
  result.report.seconds = {{"sensitivities", seconds_of_sensitivities}, {"trials", seconds}};
  require_found(result.report, found.is_enough);
  return result;
}

}  // namespace qsim::cli
