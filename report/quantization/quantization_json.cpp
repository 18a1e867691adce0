#include <cmath>

#include <nlohmann/json.hpp>

#include "report/json_text.h"
#include "report/quantization/quantization_report.h"

namespace qsim::report {
namespace {

using Json = nlohmann::ordered_json;

// JSON has no infinity.
Json finite_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json errors_json(const QuantizationErrors& errors) {
  return {{"mse", finite_or_null(errors.mse)},
          {"sqnr_db", finite_or_null(errors.sqnr_db)},
          {"cosine_distance", finite_or_null(errors.cosine_distance)},
          {"pearson", finite_or_null(errors.pearson)},
          {"largest_error", finite_or_null(errors.largest_error)},
          {"share_clipped", finite_or_null(errors.share_clipped)},
          {"share_of_levels", finite_or_null(errors.share_of_levels)}};
}

Json histogram_json(const HistogramOfTensor& histogram) {
  return {{"min", finite_or_null(histogram.min)},
          {"max", finite_or_null(histogram.max)},
          {"bins", histogram.bins}};
}

Json range_json(const QuantizedRange& range) {
  return {{"dtype", range.dtype},   {"bits", range.bits},   {"lo", range.lo},
          {"hi", range.hi},         {"scale", range.scale}, {"zero_point", range.zero_point},
          {"least", range.least()}, {"most", range.most()}};
}

Json weights_json(const QuantizedWeightsReport& weights) {
  Json errors = errors_json(weights.errors);
  errors.erase("share_clipped");
  errors.erase("share_of_levels");
  return {{"bits", weights.bits},
          {"elements", weights.elements},
          {"scales", weights.scales},
          {"least_scale", weights.least_scale},
          {"largest_scale", weights.largest_scale},
          {"dead_channels", weights.dead_channels},
          {"errors", errors},
          {"histogram", histogram_json(weights.histogram)}};
}

Json layer_json(const QuantizedLayerReport& layer) {
  Json json = {{"name", layer.name},
               {"op", layer.operation},
               {"range", range_json(layer.range)},
               {"errors", errors_json(layer.errors)},
               {"histogram", histogram_json(layer.histogram)}};
  if (layer.weights) json["weights"] = weights_json(*layer.weights);
  return json;
}

template <typename Value>
Json named(const std::vector<std::pair<std::string, Value>>& pairs) {
  Json json = Json::object();
  for (const auto& [name, value] : pairs) json[name] = value;
  return json;
}

Json mixed_precision_json(const MixedPrecisionReport& found) {
  Json layers = Json::array();
  for (const MixedPrecisionLayer& layer : found.layers) {
    Json sensitivities = Json::object();
    for (const auto& [bits, error] : layer.sensitivities) {
      sensitivities[std::to_string(bits)] = finite_or_null(error);
    }
    layers.push_back({{"name", layer.name},
                      {"elements", layer.elements},
                      {"bits", layer.bits},
                      {"sensitivities", sensitivities}});
  }
  Json trials = Json::array();
  for (const MixedPrecisionTrial& trial : found.trials) {
    trials.push_back({{"bits", trial.bits},
                      {"bits_per_weight", trial.bits_per_weight},
                      {"top1", trial.top1},
                      {"within", trial.is_within}});
  }
  return {{"sensitivity", found.sensitivity},
          {"drop", found.drop},
          {"pictures", found.pictures},
          {"float_top1", found.float_top1},
          {"top1", found.top1},
          {"bits_per_weight", found.bits_per_weight},
          {"layers", layers},
          {"trials", trials},
          {"seconds", named(found.seconds)}};
}

}  // namespace

std::string quantization_json(const QuantizationReport& report) {
  Json layers = Json::array();
  for (const QuantizedLayerReport& layer : report.layers) layers.push_back(layer_json(layer));
  Json document = {{"schema", "qsim.quantize/1"},
                   {"model", report.model},
                   {"output", report.output},
                   {"calibration", report.calibration},
                   {"pictures", report.pictures},
                   {"settings", named(report.settings)},
                   {"float_bytes", report.float_bytes},
                   {"quantized_bytes", report.quantized_bytes},
                   {"output_errors", errors_json(report.logits)},
                   {"layers", layers},
                   {"seconds", named(report.seconds)}};
  if (report.mixed_precision) {
    document["mixed_precision"] = mixed_precision_json(*report.mixed_precision);
  }
  return json_text(document);
}

}  // namespace qsim::report
