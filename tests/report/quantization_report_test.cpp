// The report of `qsim quantize`: what the JSON holds, and that the page shows text as text.
#include "report/quantization/quantization_report.h"

#include <limits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/quantization/histogram_picture.h"

namespace qsim {

using namespace report;
namespace {

QuantizedLayerReport conv1() {
  QuantizedLayerReport layer;
  layer.name = "conv1<b>";
  layer.operation = "conv2d";
  layer.range = {"uint8", 8, 0, 255, 0.5, 0};
  layer.errors = {0.25, 31.5, 1e-4, 0.9995, 1.5, 0.01, 0.75};
  layer.histogram = {-1, 200, {5, 0, 90, 1}};
  QuantizedWeightsReport weights;
  weights.bits = 4;
  weights.elements = 1728;
  weights.scales = 64;
  weights.least_scale = 0.001;
  weights.largest_scale = 0.02;
  weights.dead_channels = 3;
  weights.errors.sqnr_db = 20;
  layer.weights = weights;
  return layer;
}

QuantizationReport report_of_two() {
  QuantizationReport report;
  report.model = "net & co.onnx";
  report.calibration = "pictures";
  report.pictures = 512;
  report.settings = {{"clipping", "mse"}};
  QuantizedLayerReport input;
  input.name = "input";
  input.operation = "input";
  input.errors.sqnr_db = std::numeric_limits<double>::infinity();
  report.layers = {input, conv1()};
  report.logits.sqnr_db = 28;
  report.float_bytes = 4000;
  report.quantized_bytes = 1100;
  report.seconds = {{"calibrate", 1.5}};
  return report;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t i = text.find(part); i != std::string::npos; i = text.find(part, i + 1)) ++found;
  return found;
}

TEST(QuantizationReport, HasEveryLayerWithItsErrorsAsJson) {
  const auto json = nlohmann::json::parse(quantization_json(report_of_two()));
  EXPECT_EQ(json["schema"], "qsim.quantize/1");
  EXPECT_EQ(json["settings"]["clipping"], "mse");
  EXPECT_EQ(json["seconds"]["calibrate"], 1.5);
  ASSERT_EQ(json["layers"].size(), 2U);
  EXPECT_FALSE(json["layers"][0].contains("weights"));
  const auto& layer = json["layers"][1];
  EXPECT_EQ(layer["range"]["most"], 127.5);
  EXPECT_EQ(layer["errors"]["sqnr_db"], 31.5);
  EXPECT_EQ(layer["histogram"]["bins"], (std::vector<int>{5, 0, 90, 1}));
  EXPECT_EQ(layer["weights"]["dead_channels"], 3);
  EXPECT_FALSE(json["layers"][1]["weights"]["errors"].contains("share_clipped"));
}

TEST(QuantizationReport, WritesAnInfiniteRatioAsNull) {
  const auto json = nlohmann::json::parse(quantization_json(report_of_two()));
  EXPECT_TRUE(json["layers"][0]["errors"]["sqnr_db"].is_null());
}

TEST(QuantizationReport, ShowsNamesAsTextAndLoadsNothing) {
  const std::string page = quantization_page(report_of_two());
  EXPECT_EQ(count(page, "<b>"), 0U);
  EXPECT_GT(count(page, "conv1&lt;b&gt;"), 0U);
  EXPECT_GT(count(page, "net &amp; co.onnx"), 0U);
  EXPECT_EQ(count(page, "<script"), 0U);
  EXPECT_EQ(count(page, "src="), 0U);
  EXPECT_EQ(count(page, "http"), 0U);
}

TEST(QuantizationReport, HasTheBitsOfEachLayerAndWhatTheSearchTried) {
  QuantizationReport report = report_of_two();
  EXPECT_EQ(count(quantization_page(report), "Bits of the weights"), 0U);
  EXPECT_FALSE(nlohmann::json::parse(quantization_json(report)).contains("mixed_precision"));
  MixedPrecisionReport found;
  found.sensitivity = "trace<";
  found.drop = 0.5;
  found.pictures = 1234;
  found.float_top1 = 0.925;
  found.top1 = 0.92125;
  found.bits_per_weight = 3.25;
  found.layers = {{"conv1<b>", 1728, 4, {{8, 1e-6}, {2, 0.5}}}, {"fc2", 10, 2, {{8, 0}, {2, 0}}}};
  found.trials = {{{8, 8}, 8, 0.925, true}, {{2, 2}, 2, 0.5, false}};
  found.seconds = {{"trials", 12.5}};
  report.mixed_precision = found;
  const auto json = nlohmann::json::parse(quantization_json(report))["mixed_precision"];
  EXPECT_EQ(json["sensitivity"], "trace<");
  EXPECT_EQ(json["drop"], 0.5);
  EXPECT_EQ(json["pictures"], 1234);
  EXPECT_EQ(json["float_top1"], 0.925);
  EXPECT_EQ(json["top1"], 0.92125);
  EXPECT_EQ(json["bits_per_weight"], 3.25);
  EXPECT_EQ(json["layers"][0]["bits"], 4);
  EXPECT_EQ(json["layers"][0]["elements"], 1728);
  EXPECT_EQ(json["layers"][0]["sensitivities"]["2"], 0.5);
  EXPECT_EQ(json["trials"][1]["bits"], (std::vector<int>{2, 2}));
  EXPECT_EQ(json["trials"][1]["within"], false);
  EXPECT_EQ(json["seconds"]["trials"], 12.5);
  const std::string page = quantization_page(report);
  EXPECT_EQ(count(page, "<b>"), 0U);
  EXPECT_EQ(count(page, "92.12% of 1,234 pictures"), 1U);
  EXPECT_EQ(count(page, "<td>8 8</td><td>8.00</td><td>92.50%</td><td>yes</td>"), 1U);
  EXPECT_EQ(count(page, "<td>2 2</td><td>2.00</td><td>50.00%</td><td>no</td>"), 1U);
  EXPECT_EQ(count(page, "<td>1,728</td><td>4</td><td>1e-06</td><td>0.5</td>"), 1U);
  EXPECT_EQ(count(page, "trace&lt;"), 1U);
}

TEST(QuantizationReport, SaysThatALayerWithoutErrorIsExact) {
  EXPECT_GT(count(quantization_page(report_of_two()), ">exact<"), 0U);
}

TEST(HistogramPicture, DrawsABarForEachBinThatHasValuesAndBothEndsOfTheRange) {
  const QuantizedLayerReport layer = conv1();
  const std::string picture = histogram_picture(layer.histogram, layer.range, "x");
  EXPECT_EQ(count(picture, "class=\"bar\""), 3U);
  EXPECT_EQ(count(picture, "class=\"end\""), 2U);
  EXPECT_EQ(count(histogram_picture(layer.histogram, {}, "x"), "class=\"end\""), 0U);
}

TEST(HistogramPicture, JoinsManyBinsToAFewBars) {
  HistogramOfTensor histogram{0, 1, std::vector<std::int64_t>(2048, 1)};
  EXPECT_EQ(count(histogram_picture(histogram, {}, "x"), "class=\"bar\""), 64U);
}

TEST(HistogramPicture, TakesATensorOfOneValue) {
  const std::string picture = histogram_picture({5, 5, {10}}, {}, "x");
  EXPECT_EQ(count(picture, "nan"), 0U);
  EXPECT_EQ(count(picture, "class=\"bar\""), 1U);
}

}  // namespace
}  // namespace qsim
