#include "cli/terminal/command_options.h"

#include "cli/terminal/abc_options.h"
#include "cli/terminal/convert_options.h"
#include "cli/terminal/eval_options.h"
#include "cli/terminal/linear_options.h"
#include "cli/terminal/list_option.h"
#include "cli/terminal/mapping_options.h"
#include "cli/terminal/number_option.h"
#include "cli/terminal/one_of.h"
#include "cli/terminal/option_groups.h"
#include "cli/terminal/profile_options.h"
#include "cli/terminal/quantize_options.h"
#include "core/limits.h"

namespace qsim {
namespace {

// A number of std::int64_t, as limits are.
NumberRange range(std::int64_t least, std::int64_t most) {
  return {static_cast<std::uint64_t>(least), static_cast<std::uint64_t>(most)};
}

// Sets a number of the options.
template <typename Number>
std::function<void(std::uint64_t)> into(Number& number) {
  return [&number](std::uint64_t value) { number = static_cast<std::int64_t>(value); };
}

void add_batch_option(CLI::App& app, Options& options, const std::string& description) {
  add_number(app, "--batch", range(1, kMaxBatch), into(options.batch), description);
}

void add_seed_option(CLI::App& app, Options& options, const std::string& description) {
  const auto set = [&options](std::uint64_t value) { options.seed = value; };
  add_number(app, "--seed", {0, UINT64_MAX}, set, description)
      ->default_str(std::to_string(options.seed));
}

std::string golden_error(const std::string& text) {
  for (const char* allowed : {"auto", "cpu", "cuda", "cpu,cuda", "cuda,cpu"}) {
    if (text == allowed) return "";
  }
  return "found '" + text + "'; allowed: auto, cpu, cuda, or cpu,cuda";
}

void add_global_options(CLI::App& app, Options& options) {
  if (options.command == CommandName::kProfile) {
    add_configs_option(app, options);
  } else {
    app.add_option("--config", options.config, "accelerator: a YAML file, or a shipped name")
        ->type_name("FILE|NAME")
        ->capture_default_str();
  }
  app.add_option("--json", options.json, "also write the result as JSON; - is stdout")
      ->type_name("FILE|-");
  app.add_flag("--quiet", options.quiet, "write no progress and no notes to stderr");
  app.set_version_flag("--version", version_line(), "print the version and exit");
}

void add_model_options(CLI::App& app, Options& options) {
  add_scale_options(app, options);
  app.add_option("--model", options.model,
                 "an ONNX file, a workload YAML, a SCALE-Sim topology, a layer-trace folder, or a "
                 "shipped name "
                 "(default: the config's)");
  add_batch_option(app, options, "number of pictures at a time");
}

void add_input_options(CLI::App& app, Options& options) {
  app.add_option("--input", options.input,
                 "an image, a .npy in the model's own layout, a CIFAR-10 binary batch (.bin), or a "
                 "shipped name (default: the config's, or the workload's or trace's own)");
  add_number(app, "--index", range(0, kMaxIndex), into(options.index),
             "which picture of the CIFAR-10 batch, from 0");
  app.add_option("--layers", options.layers,
                 "only the chain from the first to the last layer whose name matches")
      ->type_name("GLOB");
  add_seed_option(app, options, "seed of the random numbers");
}

void add_run_options(CLI::App& app, Options& options) {
  add_model_options(app, options);
  add_input_options(app, options);
  add_mapping_options(app, options);
  add_dram_plan_option(app, options);
  add_write_mapping_option(app, options);
  app.add_option("--engine", options.engine, "the engine that executes the program")
      ->check(one_of({"systemc", "interpreter", "rtl", "recurrence"}))
      ->capture_default_str();
  app.add_option("--trace", options.trace,
                 "write when each command ran to FILE.perfetto-trace, for ui.perfetto.dev; with "
                 "--engine rtl and any other FILE, the core's signals as FST")
      ->type_name("FILE");
  app.add_option("--trace-window", options.trace_window,
                 "record cycles A to B - 1 only (default: the whole run)")
      ->type_name("A:B");
  app.add_option("--trace-layers", options.trace_layers,
                 "record only the cycles in which commands of these layers run: one layer, or from "
                 "the first to the last")
      ->type_name("FIRST..LAST");
  app.add_flag("--no-data", options.no_data,
               "compute the cycles only: move no data, compare nothing");
  app.add_flag("--no-verify", options.no_verify, "do not compare with golden");
  app.add_option(
         "--out", options.out,
         "write config.yaml, run.json, layers.csv, output.npy and output_q.npy to this folder")
      ->type_name("DIR");
  app.add_option(
         "--dump-layers", options.dump_layers,
         "write a layer trace to this folder: the engine's ofmaps, and golden's for graph layers "
         "that run fused inside another")
      ->type_name("DIR");
  add_energy_option(app, options);
  add_report_option(app, options);
  add_fail_if_option(app, options);
  app.add_flag("--bounds", options.bounds,
               "also print what no mapping of each layer does better, and how near it is");
}

void add_verify_options(CLI::App& app, Options& options) {
  add_model_options(app, options);
  add_input_options(app, options);
  add_mapping_options(app, options);
  add_dram_plan_option(app, options);
  add_energy_option(app, options);
  add_list(app, "--engines", options.engines, "engines to compare, with commas between them",
           {"interpreter", "systemc", "rtl", "recurrence"})
      ->default_str("interpreter,systemc");
  app.add_option(
         "--golden", options.golden,
         "golden backend: cpu, cuda, cpu,cuda, or auto, which takes QSIM_GOLDEN if it is set, "
         "otherwise a GPU if there is one, otherwise the CPU")
      ->check(CLI::Validator(golden_error, "cpu|cuda|cpu,cuda|auto"))
      ->capture_default_str();
  add_number(app, "--images", range(1, kMaxImages), into(options.images),
             "pictures of the CIFAR-10 batch, from --index on (default: one --batch)");
  add_number(app, "--seeds", range(1, kMaxSeeds), into(options.seeds),
             "verify N random layers, seeds --seed and up, instead of a model");
  app.add_flag("--all-configs", options.all_configs,
               "spread the layers of --seeds over all shipped configs");
}

void add_explain_options(CLI::App& app, Options& options) {
  add_model_options(app, options);
  add_mapping_options(app, options);
  add_energy_option(app, options);
  app.add_option("--layer", options.layer, "explain this layer (default: the whole network)")
      ->type_name("NAME");
}

void add_compile_options(CLI::App& app, Options& options) {
  add_model_options(app, options);
  add_mapping_options(app, options);
  add_dram_plan_option(app, options);
  add_energy_option(app, options);
  add_write_mapping_option(app, options);
  app.add_option("--out", options.program_out, "write the program's text; - is stdout")
      ->type_name("FILE|-");
}

void add_inspect_options(CLI::App& app, Options& options) {
  app.add_option("file", options.file,
                 "program text (.qprog), ONNX model, workload, trace, config, or a shipped name")
      ->required();
  add_scale_options(app, options);
  app.add_flag("--commands", options.commands, "print the command streams of a program");
}

void add_export_options(CLI::App& app, Options& options) {
  add_model_options(app, options);
  add_input_options(app, options);
  add_mapping_options(app, options);
  add_dram_plan_option(app, options);
  add_energy_option(app, options);
  app.add_option("--out", options.out, "write the files to this folder")
      ->type_name("DIR")
      ->required();
}

void add_backend_option(CLI::App& app, Options& options) {
  app.add_option("--backend", options.backend,
                 "golden backend; auto takes QSIM_GOLDEN if it is set, otherwise a GPU if there is "
                 "one, otherwise the CPU")
      ->check(one_of({"cpu", "cuda", "auto"}))
      ->capture_default_str();
}

void add_golden_model_options(CLI::App& app, Options& options) {
  add_golden_rounding_option(app, options);
  app.add_option("--model", options.model,
                 "an ONNX file, a workload YAML, a SCALE-Sim topology, a layer-trace folder, or a "
                 "shipped name "
                 "(default: the config's)");
  add_batch_option(app, options, "number of pictures at a time (default: 32)");
  add_backend_option(app, options);
}

void add_golden_run_options(CLI::App& app, Options& options) {
  add_golden_model_options(app, options);
  app.add_option(
      "--input", options.input,
      "a CIFAR-10 binary batch (.bin), a .npy of one or more pictures in the model's own "
      "layout, an image, or a shipped name (default: the config's, or the workload's or "
      "trace's own)");
  add_number(app, "--index", range(0, kMaxIndex), into(options.index),
             "which picture is the first, from 0 (default: 0)");
  add_number(app, "--images", range(1, kMaxImages), into(options.images),
             "number of pictures (default: all; for a workload, the batch of its file)");
  app.add_option("--out", options.out,
                 "write output.npy, the output for every picture, to this folder")
      ->type_name("DIR");
}

void add_golden_bench_options(CLI::App& app, Options& options) {
  add_golden_model_options(app, options);
  const auto set_runs = [&options](std::uint64_t runs) { options.runs = static_cast<int>(runs); };
  add_number(app, "--runs", range(9, kMaxRuns), set_runs, "repetitions; times are their medians")
      ->default_str(std::to_string(options.runs));
  add_seed_option(app, options, "seed of the random input");
}

void add_scheme_table_options(CLI::App& app, Options& options) {
  app.add_option("--model", options.model, "a float ONNX file")->type_name("FILE")->required();
  add_schemes_options(app, options.schemes);
  add_seed_option(app, options, "which pictures of --calibrate");
  app.add_option("--csv", options.csv, "also write the table as CSV; - is stdout")
      ->type_name("FILE|-");
  app.add_option("--resume", options.resume,
                 "keep each finished scheme in this file, and take those that it has")
      ->type_name("FILE");
}

void add_golden_convert_options(CLI::App& app, Options& options) {
  add_convert_options(app, options.convert);
  add_backend_option(app, options);
  add_seed_option(app, options, "seed of the random numbers");
  app.add_option("--out", options.program_out, "write the codes as a .npy")->type_name("FILE");
}

void add_golden_linear_options(CLI::App& app, Options& options) {
  add_linear_options(app, options.linear);
  add_seed_option(app, options, "seed of the random numbers");
  app.add_option("--out", options.program_out, "write y [M, N] of the last mode as a .npy")
      ->type_name("FILE");
}

void add_golden_quantize_options(CLI::App& app, Options& options) {
  add_quantize_options(app, options.linear);
  app.add_option("--out", options.program_out, "write the codes [N, K] as a .npy of int8")
      ->type_name("FILE");
}

}  // namespace

void add_options(CLI::App& app, Options& options) {
  add_global_options(app, options);
  switch (options.command) {
    case CommandName::kRun:
      return add_run_options(app, options);
    case CommandName::kVerify:
      return add_verify_options(app, options);
    case CommandName::kExplain:
      return add_explain_options(app, options);
    case CommandName::kProfile:
      return add_profile_options(app, options);
    case CommandName::kCompare:
      return add_compare_options(app, options);
    case CommandName::kEval:
      return add_eval_options(app, options);
    case CommandName::kCompile:
      return add_compile_options(app, options);
    case CommandName::kInspect:
      return add_inspect_options(app, options);
    case CommandName::kExportVectors:
      return add_export_options(app, options);
    case CommandName::kSchemes:
      return add_scheme_table_options(app, options);
    case CommandName::kQuantize:
      return add_quantize_command_options(app, options);
    case CommandName::kGoldenRun:
      return add_golden_run_options(app, options);
    case CommandName::kGoldenBench:
      return add_golden_bench_options(app, options);
    case CommandName::kGoldenAbc:
      return add_abc_options(app, options);
    case CommandName::kGoldenConvert:
      return add_golden_convert_options(app, options);
    case CommandName::kGoldenLinear:
      return add_golden_linear_options(app, options);
    case CommandName::kGoldenQuantize:
      return add_golden_quantize_options(app, options);
    case CommandName::kGoldenInfo:
    case CommandName::kDoctor:
      return;
  }
}

}  // namespace qsim
