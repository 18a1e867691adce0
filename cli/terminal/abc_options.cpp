#include "cli/terminal/abc_options.h"

#include "cli/terminal/list_option.h"
#include "cli/terminal/number_option.h"
#include "cli/terminal/one_of.h"
#include "core/error.h"
#include "core/limits.h"

namespace qsim {
namespace {

constexpr std::uint64_t kMostAbcBases = 8;  // golden/binary's kMostBases
constexpr std::uint64_t kMostAbcBatch = 1024;
constexpr std::uint64_t kMostStep = 1024;  // of --stride and --pad

// --sizes and what goes with it; --stride and --pad serve --input too.
void add_times_options(CLI::App& app, Options& options) {
  add_count(app, "--stride", {1, kMostStep}, options.stride, "of --input and --sizes");
  add_count(app, "--pad", {0, kMostStep}, options.pad, "on each side, of --weights");
  add_list(app, "--sizes", options.sizes,
           "also time the layer on square pictures of these sizes, beside float and int8, with "
           "commas between them",
           {"8", "16", "32", "64", "128", "256", "512"});
  add_count(app, "--runs", {9, static_cast<std::uint64_t>(kMaxRuns)}, options.runs,
            "repetitions of --sizes; times are their medians");
  add_number(
      app, "--batch", {1, kMostAbcBatch},
      [&options](std::uint64_t value) { options.batch = static_cast<std::int64_t>(value); },
      "pictures of --sizes at a time")
      ->default_str("1");
  app.add_option("--backend", options.backend,
                 "what --sizes times: the CPU or a GPU; auto takes QSIM_GOLDEN if it is set, "
                 "otherwise a GPU if there is one, otherwise the CPU")
      ->check(one_of({"cpu", "cuda", "auto"}))
      ->capture_default_str();
  const auto set_seed = [&options](std::uint64_t value) { options.seed = value; };
  add_number(app, "--seed", {0, UINT64_MAX}, set_seed,
             "seed of the random layer of --sizes, and of the blocks of --fit-activations")
      ->default_str(std::to_string(options.seed));
}

}  // namespace

void add_abc_options(CLI::App& app, Options& options) {
  app.add_option("--model", options.model,
                 "the network whose weights are made binary: an ONNX file, a workload YAML, a "
                 "SCALE-Sim topology, a layer-trace folder, or a shipped name (default: the "
                 "config's)");
  app.add_option("--weights", options.weights,
                 "instead of a quantized network, float weights: of an ONNX file that is not "
                 "quantized, or of one layer as a .npy of float32 [out_channels, channels, "
                 "kernel_h, kernel_w]")
      ->type_name("FILE");
  app.add_option("--layer", options.layer, "of --weights, this layer alone")->type_name("NAME");
  app.add_option("--input", options.input,
                 "convolve this with --weights: a .npy of float32 [batch, channels, height, width]")
      ->type_name("FILE");
  app.add_option("--out", options.out,
                 "write output.npy, float32 [batch, out_channels, height, width], to this folder")
      ->type_name("DIR");
  add_count(app, "--bases", {1, kMostAbcBases}, options.bases, "bases of the weights");
  add_count(app, "--activation-bases", {1, kMostAbcBases}, options.activation_bases,
            "bases of the activations");
  app.add_option("--alphas", options.alphas, "which weights share their alphas")
      ->check(one_of({"layer", "channel"}))
      ->capture_default_str();
  app.add_option("--thresholds", options.thresholds,
                 "of the weights: even, from -1 to 1 standard deviations, or fitted to the least "
                 "squared error")
      ->check(one_of({"even", "fitted"}))
      ->capture_default_str();
  app.add_flag("--fit-activations", options.fit_activations,
               "also fit v and beta of 1 to 8 bases to random blocks of --input, or of normal "
               "numbers after ReLU");
  add_times_options(app, options);
}

void check_abc_options(const Options& options) {
  if (options.command != CommandName::kGoldenAbc) return;
  if (!options.weights.empty() && !options.model.empty()) {
    throw Error(ExitCode::kUsage, "--weights and --model both name weights; leave one of them out");
  }
  if (!options.input.empty() && options.weights.empty()) {
    throw Error(ExitCode::kUsage,
                "--input of golden abc needs the layer that it goes through; add --weights");
  }
  if (!options.layer.empty() && options.weights.empty()) {
    throw Error(ExitCode::kUsage,
                "--layer of golden abc chooses among float weights; add --weights FILE.onnx");
  }
  if (!options.input.empty() && options.layer.empty() && options.weights.ends_with(".onnx")) {
    throw Error(ExitCode::kUsage,
                "--input of golden abc goes through one layer of the network; add --layer");
  }
  if (!options.out.empty() && options.input.empty()) {
    throw Error(ExitCode::kUsage,
                "--out of golden abc writes the convolution of --input; add --input");
  }
}

}  // namespace qsim
