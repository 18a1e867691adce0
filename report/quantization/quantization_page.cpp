#include <cmath>
#include <cstdio>

#include "report/html/page_files.h"
#include "report/html/report_page.h"
#include "report/quantization/histogram_picture.h"
#include "report/quantization/quantization_report.h"
#include "report/text_table.h"

namespace qsim {
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
  if (!std::isfinite(value)) return "exact";
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
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
         activation_table(report) + "<h2>Weights</h2><p>The errors of the weights alone.</p>" +
         weight_table(report) + "<h2>Settings</h2>" + settings(report) + "</main></body></html>\n";
}

}  // namespace qsim
