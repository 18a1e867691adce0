// What quantizing a network did to it, layer by layer: `qsim quantize` fills it, as JSON
// (schema qsim.quantize/1) and as a page of HTML. docs/reference/quantize.md lists the fields.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace qsim::report {

// A tensor before and after: x and what its integers stand for.
// docs/reference/quantize.md defines each.
struct QuantizationErrors {
  double mse = 0;
  double sqnr_db = 0;  // infinite where nothing is lost; JSON null
  double cosine_distance = 0;
  double pearson = 0;
  double largest_error = 0;
  // For activations only:
  double share_clipped = 0;    // of the values outside the range that the integers cover
  double share_of_levels = 0;  // of the integers that occur at all
};

// Equal bins from min to max.
struct HistogramOfTensor {
  double min = 0;
  double max = 0;
  std::vector<std::int64_t> bins;
};

// The integers of a tensor, and the real numbers that they cover.
struct QuantizedRange {
  std::string dtype;  // "uint8"
  int bits = 8;
  std::int64_t lo = 0;
  std::int64_t hi = 255;
  double scale = 1;
  std::int64_t zero_point = 0;

  double least() const { return static_cast<double>(lo - zero_point) * scale; }
  double most() const { return static_cast<double>(hi - zero_point) * scale; }
};

struct QuantizedWeightsReport {
  int bits = 8;
  std::int64_t elements = 0;
  std::int64_t scales = 1;  // 1, or one an output channel
  double least_scale = 1;
  double largest_scale = 1;
  std::int64_t dead_channels = 0;  // all weights 0
  QuantizationErrors errors;
  HistogramOfTensor histogram;  // of the float weights
};

struct QuantizedLayerReport {
  std::string name;
  std::string operation;
  QuantizedRange range;         // of the ofmap
  QuantizationErrors errors;    // of the ofmap, as the quantized network computes it
  HistogramOfTensor histogram;  // of the float ofmap on the calibration pictures
  std::optional<QuantizedWeightsReport> weights;
};

struct MixedPrecisionLayer {
  std::string name;
  std::int64_t elements = 0;                          // weights
  int bits = 8;                                       // that were found
  std::vector<std::pair<int, double>> sensitivities;  // bits; error of the output
};

struct MixedPrecisionTrial {
  std::vector<int> bits;  // one a layer
  double bits_per_weight = 8;
  double top1 = 0;
  bool is_within = false;  // the drop
};

// What the search for the bits of each layer's weights found.
struct MixedPrecisionReport {
  std::string sensitivity;
  double drop = 0;  // points of accuracy that may be lost
  std::int64_t pictures = 0;
  double float_top1 = 0;  // shares of the pictures that are right
  double top1 = 0;
  double bits_per_weight = 8;
  std::vector<MixedPrecisionLayer> layers;              // with weights
  std::vector<MixedPrecisionTrial> trials;              // in their order
  std::vector<std::pair<std::string, double>> seconds;  // phase, time
};

struct QuantizationReport {
  std::string model;
  std::string output;
  std::string calibration;  // as the user named it
  std::int64_t pictures = 0;
  std::vector<std::pair<std::string, std::string>> settings;  // option, value
  std::vector<QuantizedLayerReport> layers;                   // the input first, as "input"
  QuantizationErrors logits;                                  // of the network's output
  std::int64_t float_bytes = 0;                               // of the files
  std::int64_t quantized_bytes = 0;
  std::vector<std::pair<std::string, double>> seconds;  // phase, time
  std::optional<MixedPrecisionReport> mixed_precision;
};

std::string quantization_json(const QuantizationReport& report);

// One file that opens without a network. Names and words may hold anything: they become text.
std::string quantization_page(const QuantizationReport& report);

}  // namespace qsim::report
