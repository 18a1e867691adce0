#include "cli/session/quantize/quantization_result.h"

#include <algorithm>
#include <cmath>

#include "core/base/words.h"
#include "quantize/layer_weights.h"
#include "report/text_table.h"

namespace qsim::cli {
namespace {

constexpr std::size_t kReportedBins = 128;

report::QuantizationErrors errors_of(const quantize::TensorError& error) {
  return {quantize::mean_squared_error(error),
          quantize::sqnr_db(error),
          quantize::cosine_distance(error),
          quantize::pearson_correlation(error),
          error.largest_error,
          quantize::share_clipped(error),
          quantize::share_of_levels_used(error)};
}

report::HistogramOfTensor histogram_of(const quantize::TensorStatistics& statistics) {
  report::HistogramOfTensor histogram{statistics.min, statistics.max,
                                      std::vector<std::int64_t>(kReportedBins)};
  const std::size_t each = std::max<std::size_t>(statistics.bins.size() / kReportedBins, 1);
  for (std::size_t i = 0; i < statistics.bins.size(); ++i) {
    histogram.bins[std::min(i / each, kReportedBins - 1)] += statistics.bins[i];
  }
  return histogram;
}

report::QuantizedRange range_of(const quantize::Quantization& quantization, bool is_unsigned,
                                int bits) {
  return {
      is_unsigned ? "uint8" : "int8", bits, quantization.lo, quantization.hi, quantization.scale,
      quantization.zero_point};
}

// The statistics of the values as the quantized layer holds them, where calibration saw such a
// tensor.
const quantize::TensorStatistics& statistics_of(const QuantizationResult& result,
                                                const quantize::LayerError& layer) {
  const Layer& own = result.graph.layers[layer.layer];
  const std::int64_t last = result.network.real_layers[layer.quantized];
  if (last >= 0) {
    const TensorId clamped = result.graph.layers[static_cast<std::size_t>(last)].output;
    if (result.graph.tensors[clamped] == result.graph.tensors[own.output]) {
      return result.statistics[clamped];
    }
  }
  return result.statistics[own.output];
}

// The float weights beside what the integers stand for, channel by channel.
quantize::TensorError weight_error(const Tensor& real, const Tensor& integers,
                                   const WeightScales& stored) {
  const auto numbers = real.as<float>();
  const std::size_t each = numbers.size() / static_cast<std::size_t>(real.shape[0]);
  std::vector<float> values(numbers.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const int level = integers.dtype == DType::kInt16 ? int{integers.as<std::int16_t>()[i]}
                                                      : int{integers.as<std::int8_t>()[i]};
    values[i] = static_cast<float>(level) * stored.scales[stored.scales.size() == 1 ? 0 : i / each];
  }
  quantize::TensorError error;
  quantize::add_pairs(numbers, values, error);
  return error;
}

std::int64_t dead_channels(const Tensor& weights) {
  const auto numbers = weights.as<float>();
  const std::size_t channels = static_cast<std::size_t>(weights.shape[0]);
  const std::size_t each = numbers.size() / channels;
  std::int64_t dead = 0;
  for (std::size_t c = 0; c < channels; ++c) {
    dead += std::ranges::all_of(numbers.subspan(c * each, each), [](float w) { return w == 0; });
  }
  return dead;
}

std::optional<report::QuantizedWeightsReport> weights_report(const QuantizationResult& result,
                                                             const quantize::LayerError& layer,
                                                             int bits) {
  const auto real = quantize::weights_of(result.graph.layers[layer.layer].operation);
  const auto integers =
      quantize::weights_of(result.network.graph.layers[layer.quantized].operation);
  if (!real || !integers) return {};
  const WeightScales& stored = result.network.weights[layer.quantized];
  const auto [least, largest] = std::ranges::minmax(stored.scales);
  report::QuantizedWeightsReport report;
  report.bits = bits;
  report.elements = real->weights->elems();
  report.scales = std::ssize(stored.scales);
  report.least_scale = least;
  report.largest_scale = largest;
  report.dead_channels = dead_channels(*real->weights);
  report.errors = errors_of(weight_error(*real->weights, *integers->weights, stored));
  quantize::TensorStatistics statistics;
  quantize::add_range(real->weights->as<float>(), statistics);
  quantize::add_values(real->weights->as<float>(), statistics);
  report.histogram = histogram_of(statistics);
  return report;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> settings_of(const QuantizeOptions& options) {
  std::vector<std::pair<std::string, std::string>> settings = {
      {"form", options.form},
      {"scale_kind", options.scale_kind},
      {"activations", options.activations},
      {"activation_bits", std::to_string(options.activation_bits)},
      {"symmetry", options.symmetry},
      {"clipping", options.clipping},
      {"reduced_range", options.reduced_range},
      {"weight_bits", std::to_string(options.weight_bits)},
      {"weight_symmetry", options.weight_symmetry},
      {"weight_levels", options.weight_levels},
      {"weight_clipping", options.weight_clipping},
      {"granularity", options.granularity},
      {"weight_rounding", options.weight_rounding},
      {"bias_correction", options.bias_correction ? "true" : "false"},
      {"equalize", options.equalize ? "true" : "false"},
      {"mixed_precision", options.mixed_precision.empty() ? "none" : options.mixed_precision},
      {"seed", std::to_string(options.seed)}};
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) settings.emplace_back(name, value);
  };
  if (options.moving_average)
    add("moving_average", finite_text(*options.moving_average, "%g", "-"));
  if (!options.mixed_precision.empty())
    add("drop", finite_text(options.drop.value_or(kDefaultDrop), "%g", "-"));
  add("percentile", options.percentile);
  add("range", options.range);
  add("layers", options.layers);
  add("scales", options.scales);
  return settings;
}

report::QuantizationReport report_of(const QuantizationResult& result,
                                     const QuantizeOptions& options) {
  report::QuantizationReport report;
  report.model = options.model;
  report.output = options.out;
  report.calibration = joined(options.calibrate);
  report.pictures = result.pictures;
  report.settings = settings_of(options);
  report.float_bytes = result.float_bytes;
  report.quantized_bytes = std::ssize(result.bytes);
  report.seconds = result.seconds;
  report.mixed_precision = result.mixed_precision;
  report.logits = errors_of(result.errors.output);
  const bool is_unsigned = result.scheme.all.activations.is_unsigned;
  for (auto& [name, value] : report.settings) {
    if (name == "activations") value = is_unsigned ? "u8" : "s8";  // --scales may say so
  }
  const TensorId input = result.graph.input;
  report.layers.push_back({"input",
                           "input",
                           range_of(*result.tensors[input], is_unsigned, 8),
                           errors_of(result.errors.input),
                           histogram_of(result.statistics[input]),
                           {}});
  for (const quantize::LayerError& layer : result.errors.layers) {
    const Layer& real = result.graph.layers[layer.layer];
    const quantize::LayerScheme& scheme = quantize::scheme_of(result.scheme, real.name);
    report.layers.push_back({real.name, std::string(operation_name(real.operation)),
                             range_of(layer.quantization, is_unsigned, scheme.activations.bits),
                             errors_of(layer.error), histogram_of(statistics_of(result, layer)),
                             weights_report(result, layer, scheme.weights.levels.bits)});
  }
  return report;
}

std::string quantization_table(const report::QuantizationReport& report) {
  report::TextTable table{{{"layer"},
                           {"operation"},
                           {"range"},
                           {"scale", true},
                           {"zero point", true},
                           {"weights", true},
                           {"SQNR dB", true},
                           {"cosine distance", true},
                           {"clipped", true}},
                          {}};
  for (const report::QuantizedLayerReport& layer : report.layers) {
    table.rows.push_back(
        {layer.name, layer.operation,
         finite_text(layer.range.least(), "%.4g", "-") + ".." +
             finite_text(layer.range.most(), "%.4g", "-"),
         finite_text(layer.range.scale, "%.4g", "-"), std::to_string(layer.range.zero_point),
         layer.weights ? finite_text(layer.weights->errors.sqnr_db, "%.1f", "-") : "",
         finite_text(layer.errors.sqnr_db, "%.1f", "-"),
         finite_text(layer.errors.cosine_distance, "%.2g", "-"),
         report::share_text(layer.errors.share_clipped)});
  }
  return report::layout(table);
}

std::string mixed_precision_text(const report::MixedPrecisionReport& found) {
  std::string text = "\nbits of the weights: ";
  for (const report::MixedPrecisionLayer& layer : found.layers) {
    text +=
        (&layer == found.layers.data() ? "" : ", ") + layer.name + " " + std::to_string(layer.bits);
  }
  text += "\n" + finite_text(found.bits_per_weight, "%.2f", "-") + " bits a weight; " +
          finite_text(100 * found.top1, "%.2f%%", "-") + " of " +
          report::with_thousands(found.pictures) + " pictures are right, of the float network " +
          finite_text(100 * found.float_top1, "%.2f%%", "-") + "; " +
          report::with_thousands(static_cast<std::uint64_t>(found.trials.size())) + " trials";
  for (const auto& [phase, seconds] : found.seconds) {
    text += ", " + phase + " " + report::seconds_text(seconds);
  }
  return text + "\n";
}

}  // namespace qsim::cli
