#include "cli/terminal/linear_options.h"

#include <algorithm>
#include <string_view>

#include <CLI/CLI.hpp>

#include "cli/terminal/list_option.h"
#include "cli/terminal/needs.h"
#include "cli/terminal/number_option.h"
#include "cli/terminal/one_of.h"

namespace qsim {
namespace {

constexpr std::uint64_t kMostInFeatures = 132104;  // sums of more do not fit 32 bits
constexpr std::uint64_t kMostChannels = 1 << 20;
constexpr std::uint64_t kMostDevice = 1023;
constexpr std::uint64_t kMostRows = 1 << 16;
constexpr std::uint64_t kMostIterations = 100000;

void add_weight_form(CLI::App& app, LinearOptions& options) {
  add_word(app, "--bits", {"8", "4"}, options.bits, "bits of a weight");
  add_word(app, "--group", {"0", "32", "64", "128"}, options.group,
           "input features that share a scale; 0: all");
}

void add_layer(CLI::App& app, LinearOptions& options) {
  add_count(app, "--K", {1, kMostInFeatures}, options.in_features, "input features");
  add_count(app, "--N", {1, kMostChannels}, options.out_features, "output channels");
  add_count(app, "--M", {1, kMostRows}, options.rows, "rows of x");
  add_word(app, "--dtype", {"fp32", "fp16", "bf16"}, options.dtype, "type of x");
  add_word(app, "--y-dtype", {"fp32", "fp16", "bf16"}, options.y_dtype,
           "type of y (default: that of x)");
  add_word(app, "--activations", {"float", "int8"}, options.activations,
           "whether the integer modes quantize x to int8");
  add_float(app, "--activation-scale", options.activation_scale,
            "scale of int8 activations (default: each row of x its own)");
  add_weight_form(app, options);
  add_word(app, "--bias", {"0", "1"}, options.bias, "whether a bias is added");
}

void add_layer_files(CLI::App& app, LinearOptions& options) {
  add_file(app, "--x", options.x, "x [M, K], a .npy of float32, float16, or uint16 (BF16's bits)");
  add_file(app, "--w", options.w, "weights [N, K], a .npy of float32, float16, or int8");
  add_file(app, "--scales", options.scales,
           "scales of int8 weights, a .npy of float32 [N, groups]");
  add_file(app, "--b", options.b, "bias [N], a .npy of float32");
}

}  // namespace

void add_linear_options(CLI::App& app, LinearOptions& options) {
  add_list(app, "--mode", options.modes, "what is timed, with commas between them",
           {"cpu_fp32", "cpu_int8", "gpu_int8"})
      ->default_str("cpu_fp32,cpu_int8");
  add_layer(app, options);
  add_count(app, "--iters", {1, kMostIterations}, options.iterations, "runs that are timed");
  add_count(app, "--warmup", {0, kMostIterations}, options.warmup, "runs before them");
  add_count(app, "--threads", {0, kMostThreads}, options.threads,
            "threads of the CPU; 0: one for each processor");
  add_word(app, "--vector", {"auto", "avx512_vnni", "avx_vnni", "avx2", "portable"}, options.vector,
           "instructions of the CPU");
  add_count(app, "--device", {0, kMostDevice}, options.device, "GPU of the mode gpu_int8");
  add_word(app, "--print", {"0", "1"}, options.print, "whether the first values of y are printed");
  add_word(app, "--sweep", {"0", "1"}, options.sweep,
           "whether each shape of the CPU's tiles, and each pipeline of the GPU, is timed");
  add_word(app, "--check", {"0", "1"}, options.check,
           "whether values that are not finite are refused");
  app.add_flag("--bench", options.bench, "time several sizes, with weights that no cache holds");
  app.add_flag("--profile", options.profile,
               "run one mode once after its warm-up and time nothing, for a profiler");
  add_list(app, "--sizes", options.sizes, "sizes of --bench, KxN, with commas between them")
      ->default_str("512x2048,1024x4096,2048x8192");
  add_layer_files(app, options);
}

void check_linear_options(const LinearOptions& options, const CLI::App& app) {
  const bool has_size = options.w.empty() && !options.bench;
  const auto runs = [&options](std::string_view unit) {
    return std::ranges::any_of(options.modes,
                               [&](const std::string& mode) { return mode.starts_with(unit); });
  };
  const bool runs_integers = std::ranges::any_of(
      options.modes, [](const std::string& mode) { return mode != "cpu_fp32"; });
  const char* integers = "a mode of integers: cpu_int8 or gpu_int8";
  const char* no_size = "neither --w nor --bench, which say the sizes";
  const Need needs[] = {
      {"--K", has_size, no_size},
      {"--N", has_size, no_size},
      {"--M", options.x.empty(), "no --x, which says it"},
      {"--dtype", options.x.empty(), "no --x, which says it"},
      {"--scales", !options.w.empty(), "int8 weights in --w"},
      {"--bias", options.b.empty(), "no --b, which is added"},
      {"--bits", runs_integers, integers},
      {"--group", runs_integers, integers},
      {"--activations", runs_integers, integers},
      {"--device", runs("gpu"), "--mode gpu_int8"},
      {"--vector", runs("cpu"), "a mode of the CPU"},
  };
  require_needs(needs, [&app](const char* option) { return app.count(option) > 0; });
}

void add_quantize_options(CLI::App& app, LinearOptions& options) {
  app.add_option("--w", options.w, "weights [N, K], a .npy of float32 or float16")
      ->type_name("FILE")
      ->required();
  add_weight_form(app, options);
  app.add_flag("--symmetric", options.symmetric, "4 bits with each zero_point 8");
  add_file(app, "--out-scales", options.out_scales, "write the scales as a .npy of float32");
  add_file(app, "--out-zero-points", options.out_zero_points,
           "write the zero_points of 4 bits as a .npy of uint8");
}

}  // namespace qsim
