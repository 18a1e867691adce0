#include "cli/terminal/quantize_options.h"

#include <CLI/CLI.hpp>

#include "cli/terminal/list_option.h"
#include "cli/terminal/needs.h"
#include "cli/terminal/number_option.h"
#include "cli/terminal/one_of.h"
#include "cli/terminal/options.h"
#include "cli/terminal/usage_error.h"
#include "core/error.h"
#include "core/limits.h"

namespace qsim {
namespace {

const std::vector<std::string> kClippings = {"min_max", "moving_average", "percentile",
                                             "mse",     "entropy",        "fixed"};

void add_files(CLI::App& app, Options& options) {
  QuantizeOptions& own = options.quantize;
  app.add_option("model", options.model, "a float network: an ONNX file")->required();
  add_list(app, "--calibrate", own.calibrate,
           "pictures: a folder, a folder of class folders, CIFAR-10 batches (.bin) with commas "
           "between them, or a .npy");
  app.add_option("-o,--out", options.program_out, "write the quantized network to this ONNX file")
      ->type_name("FILE");
  app.add_option("--report", options.report, "write what each layer lost as one HTML page")
      ->type_name("FILE");
  app.add_option("--layers", own.layers, "a YAML file: layers whose options are others")
      ->type_name("FILE");
  app.add_option("--scales", own.scales,
                 "a JSON file of scales that a training has learned (qsim.scales/1)")
      ->type_name("FILE");
  add_count(app, "--pictures", {1, static_cast<std::uint64_t>(kMaxImages)}, own.pictures,
            "how many of the pictures, at most; which ones follows from --seed");
  const auto set_seed = [&options](std::uint64_t value) { options.seed = value; };
  add_number(app, "--seed", {0, UINT64_MAX}, set_seed, "seed of the choice of pictures")
      ->default_str(std::to_string(options.seed));
  add_word(app, "--mode", {"static", "weight_only", "dynamic", "fake"}, own.mode,
           "what is computed with integers: all, or what golden alone runs");
  add_word(app, "--form", {"qoperator", "qdq"}, own.form, "how the file says it");
}

void add_activations(CLI::App& app, QuantizeOptions& own) {
  add_word(app, "--scale-kind", {"float", "dyadic", "power_of_two"}, own.scale_kind,
           "what scales may be");
  add_word(app, "--activations", {"u8", "s8"}, own.activations, "type of the activations");
  add_count(app, "--activation-bits", {2, 8}, own.activation_bits, "bits of the activations");
  add_word(app, "--activation-levels", {"uniform", "log2"}, own.activation_levels,
           "log2: signs and powers of two (2 to 5 bits; --mode fake)");
  add_word(app, "--symmetry", {"affine", "symmetric", "symmetric_max"}, own.symmetry,
           "zero points of the activations: any, or that of symmetric levels");
  add_word(app, "--clipping", kClippings, own.clipping, "which range the activations cover");
  add_decimal(app, "--moving-average", {0.0001, 1, 0}, own.moving_average,
              "constant of --clipping moving_average (default: 0.01)");
  app.add_option("--percentile", own.percentile,
                 "percentiles of --clipping and --weight-clipping percentile (default: 0.01,99.99)")
      ->type_name("LO,HI");
  app.add_option("--range", own.range, "the range of --clipping fixed")->type_name("LO,HI");
  add_word(app, "--reduced-range", {"none", "weights", "activations", "both"}, own.reduced_range,
           "which leave out one level at the end");
}

void add_weights(CLI::App& app, QuantizeOptions& own) {
  add_count(app, "--weight-bits", {1, 8}, own.weight_bits, "bits of the weights, in an int8");
  add_word(app, "--weight-symmetry", {"affine", "symmetric", "symmetric_max"}, own.weight_symmetry,
           "zero points of the weights");
  add_word(app, "--weight-levels", {"uniform", "log2"}, own.weight_levels,
           "log2: signs and powers of two (2 to 5 bits)");
  add_word(app, "--weight-clipping", {"min_max", "percentile", "mse"}, own.weight_clipping,
           "which range the weights cover");
  add_word(app, "--granularity", {"channel", "tensor"}, own.granularity,
           "a scale of the weights for each output channel, or for the tensor");
  add_word(app, "--weight-rounding", {"nearest", "learned", "gptq"}, own.weight_rounding,
           "how weights become integers");
  app.add_flag("--bias-correction", own.bias_correction,
               "correct biases by what quantizing moves each channel");
  app.add_flag("--equalize", own.equalize,
               "before that, even the ranges of the channels of neighbouring layers");
  app.add_option("--mixed-precision", own.mixed_precision,
                 "find the fewest bits for each layer's weights, by this sensitivity of the output")
      ->check(one_of({"mse", "trace"}));
  add_decimal(app, "--drop", {0.001, 100, 0}, own.drop,
              "how many points of accuracy --mixed-precision may lose (default: 0.5)");
  add_count(app, "--threads", {0, kMostThreads}, own.threads, "threads; 0: one for each processor");
}

}  // namespace

void add_quantize_command_options(CLI::App& app, Options& options) {
  add_files(app, options);
  add_activations(app, options.quantize);
  add_weights(app, options.quantize);
}

void check_quantize_command_options(const Options& options, const CLI::App& app) {
  if (options.command != CommandName::kQuantize) return;
  const QuantizeOptions& own = options.quantize;
  if (own.calibrate.empty()) {
    usage_error("qsim quantize needs pictures; give --calibrate DIR|FILE");
  }
  if (options.program_out.empty()) {
    usage_error("qsim quantize needs a file to write; give -o FILE.onnx");
  }
  if (own.clipping == "fixed" && own.range.empty()) {
    usage_error("--clipping fixed needs the range; give --range LO,HI");
  }
  const bool overrides = !own.layers.empty();  // may name any of them
  const bool percentiles = own.clipping == "percentile" || own.weight_clipping == "percentile";
  const bool is_static = own.mode == "static";
  const bool has_ranges = is_static || own.mode == "fake";
  const bool is_log2 = own.activation_levels == "log2";
  const char* ranges = "--mode static or fake, which have ranges that pictures choose";
  if (is_log2 && own.activation_bits > 5) {
    usage_error("--activation-levels log2 needs --activation-bits 2 to 5");
  }
  // One bit holds the signs.
  const bool has_weight_ranges = own.weight_bits > 1 || !own.mixed_precision.empty() || overrides;
  const std::vector<Need> needs = {
      {"--form", is_static, "--mode static"},
      {"--scales", is_static, "--mode static"},
      {"--report", is_static, "--mode static"},
      {"--mixed-precision", is_static, "--mode static"},
      {"--activation-levels", own.mode == "fake", "--mode fake"},
      {"--activations", has_ranges && !is_log2, "ranges of uniform levels"},
      {"--activation-bits", has_ranges, ranges},
      {"--symmetry", has_ranges && !is_log2, "ranges of uniform levels"},
      {"--clipping", has_ranges, ranges},
      {"--moving-average", own.clipping == "moving_average" || overrides,
       "--clipping moving_average"},
      {"--percentile", percentiles || overrides,
       "--clipping percentile or --weight-clipping percentile"},
      {"--range", own.clipping == "fixed" || overrides, "--clipping fixed"},
      {"--activations", own.scales.empty(), "no --scales, which says it"},
      {"--weight-rounding", own.scales.empty(), "no --scales, whose weights are rounded"},
      {"--bias-correction", own.scales.empty(), "no --scales, of a training that did it"},
      {"--mixed-precision", own.scales.empty(), "no --scales, which say the bits"},
      {"--drop", !own.mixed_precision.empty(), "--mixed-precision"},
      {"--weight-bits", own.mixed_precision.empty(), "no --mixed-precision, which finds them"},
      {"--weight-levels", own.mixed_precision.empty() || own.weight_levels == "uniform",
       "no --mixed-precision, whose levels are uniform"},
      {"--weight-symmetry", own.weight_levels == "uniform" || overrides, "--weight-levels uniform"},
      {"--weight-symmetry", has_weight_ranges, "--weight-bits of 2 or more"},
      {"--weight-clipping", has_weight_ranges, "--weight-bits of 2 or more"},
      {"--reduced-range",
       own.weight_levels == "uniform" || (has_ranges && own.reduced_range != "weights") ||
           overrides,
       "--weight-levels uniform, or ranges of activations to reduce"},
      {"--reduced-range", has_weight_ranges || (has_ranges && own.reduced_range != "weights"),
       "--weight-bits of 2 or more, or ranges of activations to reduce"},
      {"--equalize", own.scales.empty(), "no --scales, which fit the network as it is"},
  };
  require_needs(needs, [&app](const char* option) { return app.count(option) > 0; });
}

}  // namespace qsim
