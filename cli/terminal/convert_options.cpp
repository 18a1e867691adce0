#include "cli/terminal/convert_options.h"

#include <CLI/CLI.hpp>

#include "cli/terminal/needs.h"
#include "cli/terminal/number_option.h"
#include "cli/terminal/one_of.h"
#include "core/error.h"

namespace qsim {
namespace {

std::vector<std::string> group_words() {
  std::vector<std::string> words;
  for (int group = 16; group <= 512; group += 16) words.push_back(std::to_string(group));
  words.insert(words.end(), {"token", "tensor"});
  return words;
}

void add_definition(CLI::App& app, ConvertOptions& options) {
  const std::vector<std::string> formats = {"fp16",     "bf16", "int8",    "fp8_e4m3",
                                            "fp8_e5m2", "int4", "fp4_e2m1"};
  add_word(app, "--from", formats, options.from, "format of the input");
  add_word(app, "--to", formats, options.to,
           "format of the output (default: fp8_e4m3, or the preset's; of quantized input fp16)");
  add_word(app, "--preset", {"mxfp8", "mxfp8_e5m2", "mxfp4", "nvfp4"}, options.preset,
           "format, groups and scales of a published format");
  add_word(app, "--group", group_words(), options.group,
           "elements of a row that share a scale: a multiple of 16, token (a row) or tensor")
      ->type_name("SIZE");
  add_word(app, "--scales", {"fp32", "ue8m0", "e4m3"}, options.scales, "format of the scales");
  add_word(app, "--scale-rounding", {"floor", "ceil", "half_up"}, options.scale_rounding,
           "how ue8m0 scales become powers of two");
  add_word(app, "--scale-order", {"row", "column"}, options.scale_order,
           "scales as [rows][groups] or [groups][rows]");
  app.add_flag("--zero-point", options.zero_point, "int8 and int4 with a zero_point a group");
  add_decimal(app, "--clip", {0.000001, 1000000, 0}, options.clip,
              "magnitudes above this do not count for the scales");
  add_decimal(app, "--clip-percentile", {0.0001, 100, 0}, options.clip_percentile,
              "magnitudes above this percentile of a group do not count for its scale");
  app.add_flag("--stochastic", options.stochastic, "round at random, by --seed");
}

void add_quantized_input(CLI::App& app, ConvertOptions& options) {
  add_file(app, "--in-scales", options.in_scales, "the scales of quantized input, a .npy");
  add_file(app, "--in-zero-points", options.in_zero_points, "its zero_points, a .npy of int8");
  add_float(app, "--in-global-scale", options.in_global_scale,
            "its global scale, with e4m3 scales");
  app.add_flag("--odd-cols", options.odd_cols,
               "the last high nibble of its rows is no element (4-bit formats)");
  app.add_flag("--product", options.product,
               "int4 to FP8: the number times its scale, in place of the number");
}

std::vector<Need> needs_of(const ConvertOptions& options) {
  const bool halves = options.from == "fp16" || options.from == "bf16";
  const bool integers = options.from == "int8" || options.from == "int4";
  const bool packed = options.from == "int4" || options.from == "fp4_e2m1";
  const bool to_fp8 = options.to == "fp8_e4m3" || options.to == "fp8_e5m2";
  const bool e4m3_scales =
      options.preset.empty() ? options.scales == "e4m3" : options.preset == "nvfp4";
  const char* const from_halves = "--from fp16 or bf16";
  std::vector<Need> needs = {
      {"--in-scales", !halves, "--from int8, fp8_e4m3, fp8_e5m2, int4 or fp4_e2m1"},
      {"--in-zero-points", integers, "--from int8 or int4"},
      {"--in-global-scale", !halves && e4m3_scales, "quantized input with e4m3 scales"},
      {"--odd-cols", packed, "--from int4 or fp4_e2m1"},
      {"--product", options.from == "int4" && to_fp8, "--from int4 and --to fp8_e4m3 or fp8_e5m2"},
      {"--group", options.preset.empty(), "no --preset"},
      {"--scales", options.preset.empty(), "no --preset"},
      {"--scale-rounding", halves && options.preset.empty() && options.scales == "ue8m0",
       "--from fp16 or bf16, --scales ue8m0 and no --preset"},
      {"--rows", halves && options.input.empty(), "Gaussian numbers, which are without --input"},
      {"--cols", halves && options.input.empty(), "Gaussian numbers, which are without --input"},
      {"--out-scales", halves || to_fp8, "codes that --out writes"},
      {"--out-zero-points", halves || to_fp8, "codes that --out writes"},
  };
  for (const char* option :
       {"--zero-point", "--clip", "--clip-percentile", "--stochastic", "--out-back", "--bench"}) {
    needs.push_back({option, halves, from_halves});
  }
  needs.push_back({"--runs", options.bench, "--bench"});
  return needs;
}

}  // namespace

void add_convert_options(CLI::App& app, ConvertOptions& options) {
  add_definition(app, options);
  add_quantized_input(app, options);
  add_file(app, "--input", options.input,
           "a .npy of float16, or of uint16 (BF16's bits); without it, seeded Gaussian numbers");
  add_count(app, "--rows", {1, 1 << 20}, options.rows, "rows of the Gaussian numbers");
  add_count(app, "--cols", {1, 1 << 20}, options.cols, "elements of their rows");
  add_count(app, "--threads", {0, kMostThreads}, options.threads,
            "threads; 0: one for each processor");
  add_word(app, "--vector", {"auto", "avx512_vnni", "avx_vnni", "avx2", "portable"}, options.vector,
           "instructions of the CPU");
  add_file(app, "--out-scales", options.out_scales, "write the scales as a .npy");
  add_file(app, "--out-zero-points", options.out_zero_points, "write the zero_points as a .npy");
  add_file(app, "--out-back", options.out_back,
           "write the tensor that the codes give back, a .npy");
  app.add_flag("--bench", options.bench, "time the conversion and back beside a copy");
  add_count(app, "--runs", {9, 100000}, options.runs, "repetitions of --bench");
}

void check_convert_options(const ConvertOptions& options, const CLI::App& app) {
  require_needs(needs_of(options), [&app](const char* option) { return app.count(option) > 0; });
}

}  // namespace qsim
