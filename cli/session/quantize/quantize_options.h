// The options of `qsim quantize`.
#pragma once

#include "cli/terminal/shared_options.h"
#include "cli/terminal/usage_error.h"
#include "core/base/limits.h"

namespace qsim::cli {

inline constexpr double kDefaultDrop = 0.5;

// Words as on the command line; docs/reference/quantize.md says what each means.
struct QuantizeOptions : ConfigOption {
  std::string model;            // a float ONNX file
  Words calibrate;              // pictures
  std::int64_t pictures = 512;  // of them, at most
  std::string out;              // the quantized network
  std::string report;           // an HTML file; "": none
  std::uint64_t seed = 0;
  std::string mode = "static";
  std::string form = "qoperator";
  bool form_given = false;
  std::string scales;  // a file; "": from the statistics
  std::string layers;  // a file of overrides; "": none

  std::string scale_kind = "float";
  std::string activations = "u8";
  std::int64_t activation_bits = 8;
  std::string activation_levels = "uniform";
  std::string symmetry = "affine";
  std::string clipping = "mse";
  std::optional<double> moving_average;
  std::string percentile;  // "LO,HI"; "": the default
  std::string range;       // "LO,HI" of --clipping fixed
  std::string reduced_range = "weights";

  std::int64_t weight_bits = 8;
  std::string weight_symmetry = "symmetric";
  std::string weight_levels = "uniform";
  std::string weight_clipping = "min_max";
  std::string granularity = "channel";

  std::string weight_rounding = "nearest";
  bool bias_correction = false;
  bool equalize = false;
  std::string mixed_precision;  // a sensitivity; "": the same bits for all layers
  std::optional<double> drop;   // points of accuracy
  std::int64_t threads = 0;     // 0: one for each processor
};

inline void declare_quantize_files(Declarations& declared, QuantizeOptions& options) {
  declared.text("model", options.model, "a float network: an ONNX file")
      .required()
      .read(Reads::kNetwork, "the model");
  declared
      .list("--calibrate", options.calibrate,
            "pictures: a folder, a folder of class folders, CIFAR-10 batches (.bin) with commas "
            "between them, or a .npy")
      .read(Reads::kPictures, "a picture");
  declared.text("-o,--out", options.out, "write the quantized network to this ONNX file", "FILE")
      .write(Writes::kFileAndSidecar);
  declare_report(declared, options.report, "write what each layer lost as one HTML page");
  declared.input_file("--layers", options.layers, "the file of --layers",
                      "a YAML file: layers whose options are others");
  declared.input_file("--scales", options.scales, "the file of --scales",
                      "a JSON file of scales that a training has learned (qsim.scales/1)");
  declared.number("--pictures", {1, kMaxImages}, options.pictures,
                  "how many of the pictures, at most; which ones follows from --seed");
  declared.seed(options.seed, "seed of the choice of pictures");
  declared.word("--mode", options.mode, {"static", "weight_only", "dynamic", "fake"},
                "what is computed with integers: all, or what golden alone runs");
  declared.word("--form", options.form, {"qoperator", "qdq"}, "how the file says it");
}

inline void declare_quantize_activations(Declarations& declared, QuantizeOptions& options) {
  declared.word("--scale-kind", options.scale_kind, {"float", "dyadic", "power_of_two"},
                "what scales may be");
  declared.word("--activations", options.activations, {"u8", "s8"}, "type of the activations");
  declared.number("--activation-bits", {2, 8}, options.activation_bits, "bits of the activations");
  declared.word("--activation-levels", options.activation_levels, {"uniform", "log2"},
                "log2: signs and powers of two (2 to 5 bits; --mode fake)");
  declared.word("--symmetry", options.symmetry, {"affine", "symmetric", "symmetric_max"},
                "zero points of the activations: any, or that of symmetric levels");
  declared.word("--clipping", options.clipping,
                {"min_max", "moving_average", "percentile", "mse", "entropy", "fixed"},
                "which range the activations cover");
  declared.decimal("--moving-average", {0.0001, 1, 0}, options.moving_average,
                   "constant of --clipping moving_average (default: 0.01)");
  declared.text("--percentile", options.percentile,
                "percentiles of --clipping and --weight-clipping percentile (default: 0.01,99.99)",
                "LO,HI");
  declared.text("--range", options.range, "the range of --clipping fixed", "LO,HI");
  declared.word("--reduced-range", options.reduced_range,
                {"none", "weights", "activations", "both"}, "which leave out one level at the end");
}

inline void declare_quantize_weights(Declarations& declared, QuantizeOptions& options) {
  declared.number("--weight-bits", {1, 8}, options.weight_bits, "bits of the weights, in an int8");
  declared.word("--weight-symmetry", options.weight_symmetry,
                {"affine", "symmetric", "symmetric_max"}, "zero points of the weights");
  declared.word("--weight-levels", options.weight_levels, {"uniform", "log2"},
                "log2: signs and powers of two (2 to 5 bits)");
  declared.word("--weight-clipping", options.weight_clipping, {"min_max", "percentile", "mse"},
                "which range the weights cover");
  declared.word("--granularity", options.granularity, {"channel", "tensor"},
                "a scale of the weights for each output channel, or for the tensor");
  declared.word("--weight-rounding", options.weight_rounding, {"nearest", "learned", "gptq"},
                "how weights become integers");
  declared.flag("--bias-correction", options.bias_correction,
                "correct biases by what quantizing moves each channel");
  declared.flag("--equalize", options.equalize,
                "before that, even the ranges of the channels of neighbouring layers");
  declared.word("--mixed-precision", options.mixed_precision, {"mse", "trace"},
                "find the fewest bits for each layer's weights, by this sensitivity of the output");
  declared.decimal("--drop", {0.001, 100, 0}, options.drop,
                   "how many points of accuracy --mixed-precision may lose (default: 0.5)");
  declared.number("--threads", {0, kMostThreads}, options.threads,
                  "threads; 0: one for each processor");
}

inline void check_quantize(const QuantizeOptions& options, const Declarations& declared) {
  if (options.calibrate.empty()) {
    usage_error("qsim quantize needs pictures; give --calibrate DIR|FILE");
  }
  if (options.out.empty()) {
    usage_error("qsim quantize needs a file to write; give -o FILE.onnx");
  }
  if (options.clipping == "fixed" && options.range.empty()) {
    usage_error("--clipping fixed needs the range; give --range LO,HI");
  }
  const bool overrides = !options.layers.empty();  // may name any of them
  const bool percentiles =
      options.clipping == "percentile" || options.weight_clipping == "percentile";
  const bool is_static = options.mode == "static";
  const bool has_ranges = is_static || options.mode == "fake";
  const bool is_log2 = options.activation_levels == "log2";
  const char* ranges = "--mode static or fake, which have ranges that pictures choose";
  if (is_log2 && options.activation_bits > 5) {
    usage_error("--activation-levels log2 needs --activation-bits 2 to 5");
  }
  // One bit holds the signs.
  const bool has_weight_ranges =
      options.weight_bits > 1 || !options.mixed_precision.empty() || overrides;
  const std::vector<Need> needs = {
      {"--form", is_static, "--mode static"},
      {"--scales", is_static, "--mode static"},
      {"--report", is_static, "--mode static"},
      {"--mixed-precision", is_static, "--mode static"},
      {"--activation-levels", options.mode == "fake", "--mode fake"},
      {"--activations", has_ranges && !is_log2, "ranges of uniform levels"},
      {"--activation-bits", has_ranges, ranges},
      {"--symmetry", has_ranges && !is_log2, "ranges of uniform levels"},
      {"--clipping", has_ranges, ranges},
      {"--moving-average", options.clipping == "moving_average" || overrides,
       "--clipping moving_average"},
      {"--percentile", percentiles || overrides,
       "--clipping percentile or --weight-clipping percentile"},
      {"--range", options.clipping == "fixed" || overrides, "--clipping fixed"},
      {"--activations", options.scales.empty(), "no --scales, which says it"},
      {"--weight-rounding", options.scales.empty(), "no --scales, whose weights are rounded"},
      {"--bias-correction", options.scales.empty(), "no --scales, of a training that did it"},
      {"--mixed-precision", options.scales.empty(), "no --scales, which say the bits"},
      {"--drop", !options.mixed_precision.empty(), "--mixed-precision"},
      {"--weight-bits", options.mixed_precision.empty(), "no --mixed-precision, which finds them"},
      {"--weight-levels", options.mixed_precision.empty() || options.weight_levels == "uniform",
       "no --mixed-precision, whose levels are uniform"},
      {"--weight-symmetry", options.weight_levels == "uniform" || overrides,
       "--weight-levels uniform"},
      {"--weight-symmetry", has_weight_ranges, "--weight-bits of 2 or more"},
      {"--weight-clipping", has_weight_ranges, "--weight-bits of 2 or more"},
      {"--reduced-range",
       options.weight_levels == "uniform" || (has_ranges && options.reduced_range != "weights") ||
           overrides,
       "--weight-levels uniform, or ranges of activations to reduce"},
      {"--reduced-range", has_weight_ranges || (has_ranges && options.reduced_range != "weights"),
       "--weight-bits of 2 or more, or ranges of activations to reduce"},
      {"--equalize", options.scales.empty(), "no --scales, which fit the network as it is"},
  };
  declared.require_needs(needs);
}

inline void declare_quantize(Declarations& declared, QuantizeOptions& options) {
  declare_config(declared, options);
  declare_quantize_files(declared, options);
  declare_quantize_activations(declared, options);
  declare_quantize_weights(declared, options);
  declared.check([&] {
    options.form_given = declared.given("--form");
    check_quantize(options, declared);
  });
}

}  // namespace qsim::cli
