// The options of `qsim eval`.
#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

#include "cli/session/inputs/hosted_model.h"
#include "cli/session/inputs/model_source.h"
#include "cli/terminal/output_folders.h"
#include "cli/terminal/shared_options.h"
#include "core/base/engine_names.h"
#include "core/base/error.h"
#include "core/base/limits.h"

namespace qsim::cli {

inline constexpr std::string_view kGoldenEngine = "golden";
inline constexpr std::string_view kFloatEngine = "float";
inline constexpr std::string_view kFakeEngine = "fake";

struct EvalEngineRow {
  std::string_view name;
  bool is_real = false;       // computes in float32
  bool is_of_float = false;   // runs the float network; the others the quantized one
  bool runs_program = false;  // an engine of cli/session/engines/engines.h, on the accelerator
};

// The values of --engines.
inline constexpr EvalEngineRow kEvalEngines[] = {
    {.name = kGoldenEngine},
    {.name = kSystemcEngine, .runs_program = true},
    {.name = kFloatEngine, .is_real = true, .is_of_float = true},
    {.name = kFakeEngine, .is_real = true},
};

// The row of that name, which is there.
inline const EvalEngineRow& eval_engine_row(std::string_view name) {
  const EvalEngineRow* row = std::ranges::find(kEvalEngines, name, &EvalEngineRow::name);
  QSIM_CHECK(row != std::end(kEvalEngines), "an engine of eval is not in the list");
  return *row;
}

inline Words eval_engine_names() {
  Words names;
  for (const EvalEngineRow& row : kEvalEngines) names.emplace_back(row.name);
  return names;
}

struct EvalOptions : ConfigOption, NetworkOptions, HostOptions {
  std::string float_model;  // "" for none
  std::string against;      // "" for none
  Words data;               // paths
  std::optional<std::int64_t> pictures;
  std::uint64_t seed = 0;
  Words engines;                     // empty: those that a network can have without more
  std::optional<std::int64_t> jobs;  // absent: as many as processors
  std::string backend = "auto";
  std::string out;  // a folder; "" for none
};

inline void declare_eval(Declarations& declared, EvalOptions& options) {
  declare_config(declared, options);
  declare_set(declared, options);
  declare_model(declared, options.model, "an ONNX file, a workload YAML, or a shipped name");
  declare_golden_rounding(declared, options);
  declare_host(declared, options);
  declared
      .text("--float", options.float_model, "the float network (ONNX) of the engine float", "FILE")
      .read(Reads::kNetwork, "the model");
  declared
      .text("--against", options.against,
            "a second network, which judges the same pictures: who is right alone, and McNemar's "
            "test",
            "FILE|NAME")
      .read(Reads::kNetwork, "the model");
  declared
      .repeated("--data", options.data,
                "the pictures: a CIFAR-10 binary batch (.bin) or several of them, a folder of "
                "class folders, a folder of pictures, or a .npy of float32")
      .called("PATH")
      .required()
      .read(Reads::kPictures, "the pictures");
  declared.number("--pictures", {1, kMaxImages}, options.pictures,
                  "so many of them, drawn with --seed (default: all)");
  declared.seed(options.seed, "seed of --pictures");
  declared
      .list("--engines", options.engines, "what judges the pictures, with commas between them",
            eval_engine_names())
      .shows("golden; of a float network float");
  declare_batch(declared, options.batch, "number of pictures at a time (default: 32)");
  declared.number("--jobs", {1, kMostThreads}, options.jobs,
                  "threads (default: the number of processors)");
  declare_backend(declared, options.backend, "where golden, float and fake run");
  declared.output_folder(
      "--out", options.out, is_eval_file,
      "write eval.json, predictions.npy and outputs.npy to this folder, and keep there what "
      "is finished, so that the same command goes on after an interrupt");
  declared.check([&] { require_engines_once(options.engines); });
}

// The request for `model`: the configuration's network, or that of --against.
inline NetworkRequest network_of(const EvalOptions& options, const std::string& model) {
  NetworkRequest request{options, options};
  request.model = model;
  request.batch.reset();  // the engines choose it
  return request;
}

}  // namespace qsim::cli
