#include "report/quantization/histogram_picture.h"

#include <algorithm>
#include <cmath>

#include "core/base/words.h"
#include "report/html/report_page.h"

namespace qsim::report {
namespace {

constexpr double kWidth = 300;
constexpr double kHeight = 72;
constexpr std::size_t kBars = 64;
constexpr double kBarHeight = 18;
constexpr double kNameWidth = 170;
constexpr double kBarsWidth = 420;

// No locale, and at most three decimals.
std::string pixels(double value) { return number_text(value, "%.2f"); }

std::string short_number(double value) { return number_text(value, "%.4g"); }

std::string rectangle(const char* kind, double x, double y, double width, double height) {
  return "<rect class=\"" + std::string(kind) + "\" x=\"" + pixels(x) + "\" y=\"" + pixels(y) +
         "\" width=\"" + pixels(width) + "\" height=\"" + pixels(height) + "\"/>";
}

// kBars sums of neighbours.
std::vector<std::int64_t> folded(const std::vector<std::int64_t>& bins) {
  std::vector<std::int64_t> sums(std::min(kBars, bins.size()));
  for (std::size_t i = 0; i < bins.size(); ++i) sums[i * sums.size() / bins.size()] += bins[i];
  return sums;
}

// Maps real numbers to pixels; the axis covers the values and the integers.
class Axis {
 public:
  Axis(const HistogramOfTensor& histogram, const std::optional<QuantizedRange>& range)
      : least_(histogram.min), most_(histogram.max) {
    if (range) {
      least_ = std::min(least_, range->least());
      most_ = std::max(most_, range->most());
    }
  }
  double at(double value) const {
    return most_ > least_ ? (value - least_) / (most_ - least_) * kWidth : kWidth / 2;
  }
  std::string ends() const {
    const std::string y = pixels(kHeight + 14);
    return "<text x=\"0\" y=\"" + y + "\">" + short_number(least_) + "</text><text x=\"" +
           pixels(kWidth) + "\" y=\"" + y + "\" text-anchor=\"end\">" + short_number(most_) +
           "</text>";
  }

 private:
  double least_;
  double most_;
};

std::string bars(const HistogramOfTensor& histogram, const Axis& axis) {
  const std::vector<std::int64_t> sums = folded(histogram.bins);
  if (sums.empty()) return "";
  const double most = static_cast<double>(*std::max_element(sums.begin(), sums.end()));
  const double step =
      (axis.at(histogram.max) - axis.at(histogram.min)) / static_cast<double>(sums.size());
  std::string text;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (sums[i] == 0) continue;
    const double share = std::log1p(static_cast<double>(sums[i])) / std::log1p(most);
    const double height = std::max(1.0, share * kHeight);
    const double x = axis.at(histogram.min) + static_cast<double>(i) * step;
    text += rectangle("bar", x, kHeight - height, std::max(0.5, step - 0.5), height);
  }
  return text;
}

}  // namespace

std::string histogram_picture(const HistogramOfTensor& histogram,
                              const std::optional<QuantizedRange>& range,
                              const std::string& label) {
  const Axis axis(histogram, range);
  std::string text = "<svg class=\"histogram\" role=\"img\" viewBox=\"-4 -4 " + pixels(kWidth + 8) +
                     " " + pixels(kHeight + 24) + "\"><title>" + html_text(label) + "</title>";
  if (range) {
    const double begin = axis.at(range->least());
    const double end = axis.at(range->most());
    text += rectangle("covered", begin, 0, std::max(1.0, end - begin), kHeight);
    text += rectangle("end", begin - 0.75, -4, 1.5, kHeight + 4);
    text += rectangle("end", end - 0.75, -4, 1.5, kHeight + 4);
  }
  return text + bars(histogram, axis) + axis.ends() + "</svg>";
}

std::string sqnr_picture(const QuantizationReport& report) {
  constexpr double kMostDecibels = 60;
  const double height = static_cast<double>(report.layers.size()) * (kBarHeight + 6);
  std::string text = "<svg class=\"sqnr\" role=\"img\" viewBox=\"0 0 " +
                     pixels(kNameWidth + kBarsWidth + 70) + " " + pixels(height) +
                     "\"><title>Signal to quantization noise of each layer</title>";
  double y = 0;
  for (const QuantizedLayerReport& layer : report.layers) {
    const double decibels = layer.errors.sqnr_db;
    const bool exact = !std::isfinite(decibels);
    const double share = exact ? 1 : std::clamp(decibels / kMostDecibels, 0.0, 1.0);
    const std::string line = pixels(y + kBarHeight - 4);
    text += "<text x=\"" + pixels(kNameWidth - 8) + "\" y=\"" + line + "\" text-anchor=\"end\">" +
            html_text(layer.name) + "</text>" +
            rectangle("bar", kNameWidth, y, share * kBarsWidth, kBarHeight) + "<text x=\"" +
            pixels(kNameWidth + share * kBarsWidth + 6) + "\" y=\"" + line + "\">" +
            (exact ? "exact" : short_number(decibels) + " dB") + "</text>";
    y += kBarHeight + 6;
  }
  return text + "</svg>";
}

}  // namespace qsim::report
