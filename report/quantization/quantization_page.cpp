#include <cmath>

#include "core/base/words.h"
#include "report/html/page_files.h"
#include "report/html/report_page.h"
#include "report/quantization/histogram_picture.h"
#include "report/quantization/quantization_report.h"
#include "report/text_table.h"

namespace qsim::report {
namespace {

constexpr std::string_view kStyle = R"(
.bar { fill: var(--link); } .covered { fill: var(--raised); } .end { fill: var(--focus); }
svg text { fill: var(--quiet); font: 12px var(--text); }
.histogram { width: 100%; max-width: 19rem; height: auto; } .sqnr { width: 100%; max-width: 46rem; height: auto; }
.wide { max-height: none; } table { font-variant-numeric: tabular-nums; font-size: 0.8rem; }
th, td { padding: 0.3rem 0.4rem; border-bottom: 1px solid var(--rule); text-align: right; vertical-align: middle; overflow-wrap: normal; }
th:first-child, td:first-child { text-align: left; } td.picture { min-width: 11rem; }
)";

std::string number(double value, const char* format = "%.4g") {
  return finite_text(value, format, "exact");
}

std::string cell(const std::string& text) { return "<td>" + html_text(text) + "</td>"; }

std::string heading(std::initializer_list<const char*> titles) {
  std::string text = "<thead><tr>";
  for (const char* title : titles) text += "<th>" + std::string(title) + "</th>";
  return text + "</tr></thead>";
}

std::string error_cells(const QuantizationErrors& errors) {
  return cell(number(errors.sqnr_db, "%.1f")) + cell(number(errors.mse)) +
         cell(number(errors.cosine_distance)) + cell(number(errors.pearson, "%.6f"));
}

std::string picture_cell(const std::string& picture) {
  return "<td class=\"picture\">" + picture + "</td>";
}

std::string activation_row(const QuantizedLayerReport& layer) {
  const QuantizedRange& range = layer.range;
  return "<tr>" + cell(layer.name) +
         picture_cell(histogram_picture(layer.histogram, range, layer.name + ": ofmap")) +
         cell(layer.operation) + cell(range.dtype + ", " + std::to_string(range.bits) + " bits") +
         cell(number(range.scale)) + cell(std::to_string(range.zero_point)) +
         error_cells(layer.errors) + cell(share_text(layer.errors.share_clipped)) +
         cell(percent(layer.errors.share_of_levels)) + "</tr>";
}

std::string activation_table(const QuantizationReport& report) {
  std::string text =
      "<div class=\"wide\"><table>" +
      heading({"layer", "values, and the range", "operation", "integers", "scale", "zero_point",
               "SQNR, dB", "MSE", "cosine distance", "Pearson", "clipped", "levels used"}) +
      "<tbody>";
  for (const QuantizedLayerReport& layer : report.layers) text += activation_row(layer);
  return text + "</tbody></table></div>";
}

std::string weight_row(const QuantizedLayerReport& layer) {
  const QuantizedWeightsReport& weights = *layer.weights;
  std::string scale = number(weights.least_scale);
  if (weights.scales > 1) scale += " to " + number(weights.largest_scale);
  return "<tr>" + cell(layer.name) +
         picture_cell(histogram_picture(weights.histogram, {}, layer.name + ": weights")) +
         cell(with_thousands(weights.elements)) + cell(std::to_string(weights.bits)) +
         cell(with_thousands(weights.scales)) + cell(scale) +
         cell(with_thousands(weights.dead_channels)) + error_cells(weights.errors) + "</tr>";
}

std::string weight_table(const QuantizationReport& report) {
  std::string text = "<div class=\"wide\"><table>" +
                     heading({"layer", "values", "weights", "bits", "scales", "scale",
                              "dead channels", "SQNR, dB", "MSE", "cosine distance", "Pearson"}) +
                     "<tbody>";
  for (const QuantizedLayerReport& layer : report.layers) {
    if (layer.weights) text += weight_row(layer);
  }
  return text + "</tbody></table></div>";
}

std::string tile(const std::string& name, const std::string& value) {
  return "<div><dt>" + html_text(name) + "</dt><dd>" + html_text(value) + "</dd></div>";
}

std::string tiles(const QuantizationReport& report) {
  return "<dl class=\"tiles\">" +
         tile("SQNR of the output", number(report.logits.sqnr_db, "%.1f") +
                                        (std::isfinite(report.logits.sqnr_db) ? " dB" : "")) +
         tile("float file", with_thousands(report.float_bytes) + " bytes") +
         tile("quantized file", with_thousands(report.quantized_bytes) + " bytes") +
         tile("calibration pictures", with_thousands(report.pictures)) + "</dl>";
}

std::string settings(const QuantizationReport& report) {
  std::string text = "<div class=\"wide\"><table>" + heading({"setting", "value"}) + "<tbody>";
  for (const auto& [name, value] : report.settings) {
    text += "<tr>" + cell(name) + cell(value) + "</tr>";
  }
  return text + "</tbody></table></div>";
}

std::string bits_table(const MixedPrecisionReport& found) {
  std::string text =
      "<div class=\"wide\"><table><thead><tr><th>layer</th><th>weights</th>"
      "<th>bits</th>";
  if (!found.layers.empty()) {
    for (const auto& [bits, error] : found.layers.front().sensitivities) {
      text += "<th>" + std::to_string(bits) + " bits</th>";
    }
  }
  text += "</tr></thead><tbody>";
  for (const MixedPrecisionLayer& layer : found.layers) {
    text += "<tr>" + cell(layer.name) + cell(with_thousands(layer.elements)) +
            cell(std::to_string(layer.bits));
    for (const auto& [bits, error] : layer.sensitivities) text += cell(number(error));
    text += "</tr>";
  }
  return text + "</tbody></table></div>";
}

std::string trials_table(const MixedPrecisionReport& found) {
  std::string text = "<div class=\"wide\"><table>" +
                     heading({"trial", "bits of the layers", "bits a weight", "right", "within"}) +
                     "<tbody>";
  std::int64_t trials = 0;
  for (const MixedPrecisionTrial& trial : found.trials) {
    std::string bits;
    for (const int each : trial.bits) bits += (bits.empty() ? "" : " ") + std::to_string(each);
    text += "<tr>" + cell(with_thousands(++trials)) + cell(bits) +
            cell(number(trial.bits_per_weight, "%.2f")) + cell(number(100 * trial.top1, "%.2f%%")) +
            cell(trial.is_within ? "yes" : "no") + "</tr>";
  }
  return text + "</tbody></table></div>";
}

std::string mixed_precision(const MixedPrecisionReport& found) {
  std::string times;
  for (const auto& [phase, seconds] : found.seconds) {
    times += (times.empty() ? "" : ", ") + phase + " " + seconds_text(seconds);
  }
  return "<h2>Bits of the weights</h2><p>" + number(found.bits_per_weight, "%.2f") +
         " bits a weight: " + number(100 * found.top1, "%.2f%%") + " of " +
         with_thousands(found.pictures) + " pictures are right; of the float network " +
         number(100 * found.float_top1, "%.2f%%") + ", and " + number(found.drop, "%g") +
         " points may be lost. Under each number of bits is the sensitivity (" +
         html_text(found.sensitivity) +
         "): the error of the output where this layer alone has them.</p>" + bits_table(found) +
         "<p>What the search tried, in its order (" + html_text(times) + "):</p>" +
         trials_table(found);
}

}  // namespace

std::string quantization_page(const QuantizationReport& report) {
  const std::string title = html_text(report.model) + ", quantized";
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>" +
         title + "</title><style>" + std::string(kPageCss) + std::string(kStyle) +
         "</style></head><body><main><p class=\"brand\">qsim quantize</p><h1>" + title +
         "</h1><p class=\"summary\">Each ofmap of the quantized network is compared with that of "
         "the "
         "float network, on the calibration pictures of " +
         html_text(report.calibration) + ".</p>" + tiles(report) +
         "<h2>Which layer loses most</h2><p>Signal to quantization noise of each ofmap: 6 dB are "
         "one "
         "bit. Errors add up from layer to layer.</p>" +
         sqnr_picture(report) +
         "<h2>Activations</h2><p>The bars count the float values (heights are logarithms). The two "
         "lines are the ends of what the integers cover: what is outside is clipped.</p>" +
         activation_table(report) +
         (report.mixed_precision ? mixed_precision(*report.mixed_precision) : "") +
         "<h2>Weights</h2><p>The errors of the weights alone.</p>" + weight_table(report) +
         "<h2>Settings</h2>" + settings(report) + "</main></body></html>\n";
}

}  // namespace qsim::report
