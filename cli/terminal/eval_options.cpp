#include "cli/terminal/eval_options.h"

#include <iterator>
#include <set>

#include <CLI/CLI.hpp>

#include "cli/terminal/list_option.h"
#include "cli/terminal/number_option.h"
#include "cli/terminal/one_of.h"
#include "cli/terminal/options.h"
#include "cli/terminal/profile_options.h"
#include "core/error.h"
#include "core/limits.h"

namespace qsim {
namespace {

void add_networks(CLI::App& app, Options& options) {
  app.add_option("--model", options.model,
                 "an ONNX file, a workload YAML, or a shipped name (default: the config's)");
  add_golden_rounding_option(app, options);
  app.add_option("--float", options.eval.float_model,
                 "the float network (ONNX) of the engine float")
      ->type_name("FILE");
  app.add_option("--against", options.eval.against,
                 "a second network, which judges the same pictures: who is right alone, and "
                 "McNemar's test")
      ->type_name("FILE|NAME");
}

void add_pictures(CLI::App& app, Options& options) {
  add_repeated(app, "--data", options.eval.data,
               "the pictures: a CIFAR-10 binary batch (.bin) or several of them, a folder of class "
               "folders, a folder of pictures, or a .npy of float32")
      ->type_name("PATH")
      ->required();
  add_count(app, "--pictures", {1, static_cast<std::uint64_t>(kMaxImages)}, options.eval.pictures,
            "so many of them, drawn with --seed (default: all)");
  const auto set_seed = [&options](std::uint64_t value) { options.seed = value; };
  add_number(app, "--seed", {0, UINT64_MAX}, set_seed, "seed of --pictures")
      ->default_str(std::to_string(options.seed));
}

}  // namespace

void add_eval_options(CLI::App& app, Options& options) {
  add_networks(app, options);
  add_pictures(app, options);
  add_list(app, "--engines", options.eval.engines,
           "what judges the pictures, with commas between them",
           {std::begin(kEvalEngineNames), std::end(kEvalEngineNames)})
      ->default_str("golden; of a float network float");
  add_count(app, "--batch", {1, static_cast<std::uint64_t>(kMaxBatch)}, options.batch,
            "number of pictures at a time (default: 32)");
  add_count(app, "--jobs", {1, kMostThreads}, options.jobs,
            "threads (default: the number of processors)");
  app.add_option(
         "--backend", options.backend,
         "where golden, float and fake run; auto takes QSIM_GOLDEN if it is set, otherwise a "
         "GPU if there is one, otherwise the CPU")
      ->check(one_of({"cpu", "cuda", "auto"}))
      ->capture_default_str();
  app.add_option(
         "--out", options.out,
         "write eval.json, predictions.npy and outputs.npy to this folder, and keep there what is "
         "finished, so that the same command goes on after an interrupt")
      ->type_name("DIR");
}

void check_eval_options(const Options& options) {
  const std::vector<std::string>& engines = options.eval.engines;
  const std::set<std::string> names(engines.begin(), engines.end());
  if (names.size() == engines.size()) return;
  throw Error(ExitCode::kUsage, "--engines names an engine twice; name each one once");
}

}  // namespace qsim
