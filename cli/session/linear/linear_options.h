// The options of `qsim golden linear`, and those that it shares with `qsim golden quantize`.
#pragma once

#include <algorithm>

#include "cli/terminal/shared_options.h"

namespace qsim::cli {

// What makes weights integers: also of `qsim golden quantize`.
struct WeightOptions {
  std::string w;  // a file; "": seeded random numbers
  std::string bits = "8";
  std::string group = "0";
  bool symmetric = false;
};

struct LinearOptions : ConfigOption, WeightOptions {
  Words modes = {"cpu_fp32", "cpu_int8"};
  std::int64_t in_features = 4096;   // --K
  std::int64_t out_features = 4096;  // --N
  std::int64_t rows = 1;             // --M
  std::string dtype = "fp16";
  std::string y_dtype;                    // "": that of x
  std::string activations = "float";      // or "int8"
  std::optional<float> activation_scale;  // of int8 activations; none: each row its own
  std::string bias = "1";
  std::string print = "0";
  std::string sweep = "0";
  std::string check = "0";
  std::string vector = "auto";
  std::int64_t iterations = 21;
  std::int64_t warmup = 3;
  std::int64_t threads = 0;  // 0: one a processor
  bool bench = false;
  bool profile = false;
  Words sizes;               // "KxN"; empty: those of --bench
  std::string x, scales, b;  // files; "": seeded random numbers
  std::int64_t device = 0;   // of gpu_int8
  std::uint64_t seed = 0;
  std::string out;  // a file; "" for none
};

inline void declare_weight_form(Declarations& declared, WeightOptions& options) {
  declared.word("--bits", options.bits, {"8", "4"}, "bits of a weight");
  declared.word("--group", options.group, {"0", "32", "64", "128"},
                "input features that share a scale; 0: all");
}

inline OptionRow& declare_weights(Declarations& declared, WeightOptions& options,
                                  const std::string& types) {
  return declared.text("--w", options.w, "weights [N, K], a .npy of " + types)
      .called("FILE")
      .read(Reads::kFile, "the weights");
}

inline void declare_layer(Declarations& declared, LinearOptions& options) {
  constexpr std::int64_t kMostInFeatures = 132104;  // sums of more do not fit 32 bits
  declared.number("--K", {1, kMostInFeatures}, options.in_features, "input features");
  declared.number("--N", {1, 1 << 20}, options.out_features, "output channels");
  declared.number("--M", {1, 1 << 16}, options.rows, "rows of x");
  declared.word("--dtype", options.dtype, {"fp32", "fp16", "bf16"}, "type of x");
  declared.word("--y-dtype", options.y_dtype, {"fp32", "fp16", "bf16"},
                "type of y (default: that of x)");
  declared.word("--activations", options.activations, {"float", "int8"},
                "whether the integer modes quantize x to int8");
  declared.real("--activation-scale", options.activation_scale,
                "scale of int8 activations (default: each row of x its own)");
  declare_weight_form(declared, options);
  declared.word("--bias", options.bias, {"0", "1"}, "whether a bias is added");
}

inline void declare_layer_files(Declarations& declared, LinearOptions& options) {
  declared.input_file("--x", options.x, "x",
                      "x [M, K], a .npy of float32, float16, or uint16 (BF16's bits)");
  declare_weights(declared, options, "float32, float16, or int8");
  declared.input_file("--scales", options.scales, "the scales",
                      "scales of int8 weights, a .npy of float32 [N, groups]");
  declared.input_file("--b", options.b, "the bias", "bias [N], a .npy of float32");
}

inline void declare_measuring(Declarations& declared, LinearOptions& options) {
  constexpr std::int64_t kMostIterations = 100000;
  declared.number("--iters", {1, kMostIterations}, options.iterations, "runs that are timed");
  declared.number("--warmup", {0, kMostIterations}, options.warmup, "runs before them");
  declared.number("--threads", {0, kMostThreads}, options.threads,
                  "threads of the CPU; 0: one for each processor");
  declare_vector(declared, options.vector);
  declared.number("--device", {0, 1023}, options.device, "GPU of the mode gpu_int8");
  declared.word("--print", options.print, {"0", "1"}, "whether the first values of y are printed");
  declared.word("--sweep", options.sweep, {"0", "1"},
                "whether each shape of the CPU's tiles, and each pipeline of the GPU, is timed");
  declared.word("--check", options.check, {"0", "1"},
                "whether values that are not finite are refused");
  declared.flag("--bench", options.bench, "time several sizes, with weights that no cache holds");
  declared.flag("--profile", options.profile,
                "run one mode once after its warm-up and time nothing, for a profiler");
  declared.list("--sizes", options.sizes, "sizes of --bench, KxN, with commas between them")
      .called("KxN,...")
      .shows("512x2048,1024x4096,2048x8192");
}

inline void check_linear(const LinearOptions& options, const Declarations& declared) {
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
  declared.require_needs(needs);
}

inline void declare_linear(Declarations& declared, LinearOptions& options) {
  declare_config(declared, options);
  declared
      .list("--mode", options.modes, "what is timed, with commas between them",
            {"cpu_fp32", "cpu_int8", "gpu_int8"})
      .shows("cpu_fp32,cpu_int8");
  declare_layer(declared, options);
  declare_measuring(declared, options);
  declare_layer_files(declared, options);
  declared.seed(options.seed, "seed of the random numbers");
  declared.output_file("--out", options.out, "write y [M, N] of the last mode as a .npy");
  declared.check([&] { check_linear(options, declared); });
}

}  // namespace qsim::cli
