#include "cli/terminal/profile_options.h"

#include <algorithm>

#include "cli/terminal/list_option.h"
#include "cli/terminal/mapping_options.h"
#include "cli/terminal/number_option.h"
#include "cli/terminal/one_of.h"
#include "core/error.h"
#include "core/limits.h"

namespace qsim {
namespace {

void add_output_options(CLI::App& app, Options& options) {
  app.add_option("--csv", options.csv, "also write the layers as a table; - is stdout")
      ->type_name("FILE|-");
  app.add_option("--csv-columns", options.csv_columns, "the columns of --csv")
      ->check(one_of({"qsim", "scalesim-compute", "scalesim-bandwidth", "scalesim-access"}))
      ->capture_default_str();
  add_fail_if_option(app, options);
  app.add_option("--resume", options.resume,
                 "keep finished points in this file, and take from it those that are there")
      ->type_name("FILE");
  add_count(app, "--jobs", {1, kMostThreads}, options.jobs,
            "points at a time (default: the number of processors)");
}

void require_two_files(const std::vector<std::string>& files) {
  if (files.size() == 2) return;
  std::string list;
  for (const std::string& file : files) list += (list.empty() ? ": " : ", ") + file;
  throw Error(ExitCode::kUsage,
              "qsim compare takes two files that --json of run or profile wrote; found " +
                  std::to_string(files.size()) + list);
}

// Of two equal points none could be told from the other.
void require_each_once(const std::string& option, const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (std::count(names.begin(), names.begin() + std::ptrdiff_t(i), names[i]) == 0) continue;
    throw Error(ExitCode::kUsage, option + ": names '" + names[i] + "' twice; name each one once");
  }
}

void add_rounding(CLI::App& app, Options& options, const std::vector<std::string>& words) {
  app.add_option("--rounding", options.rounding,
                 "how the layers of an ONNX model round (default: float32, as ONNX Runtime; shifts "
                 "where all scales are powers of two)")
      ->check(one_of(words));
}

}  // namespace

void add_configs_option(CLI::App& app, Options& options) {
  add_list(app, "--config", options.configs, "accelerators: YAML files, or shipped names")
      ->type_name("FILE|NAME,...")
      ->default_str(kDefaultConfig);
}

void add_golden_rounding_option(CLI::App& app, Options& options) {
  add_rounding(app, options,
               {"float32", "half_even", "half_up", "floor", "tflite", "tflite_single"});
}

void add_scale_options(CLI::App& app, Options& options) {
  add_rounding(app, options, {"float32", "half_even", "half_up", "floor"});
  app.add_flag("--snap", options.snap,
               "round the scales of an ONNX model's layers to powers of two, for configurations "
               "with requantizer: shift");
}

void add_fail_if_option(CLI::App& app, Options& options) {
  add_repeated(app, "--fail-if", options.fail_if,
               "end with exit code 6 if this is true: 'cycles > 1.01 * base.json'; may be given "
               "several times")
      ->type_name("CONDITION");
}

void add_report_option(CLI::App& app, Options& options) {
  app.add_option("--report", options.report,
                 "also write the result as a page of charts and tables, one HTML file")
      ->type_name("FILE");
}

void add_profile_options(CLI::App& app, Options& options) {
  add_list(app, "--model", options.models,
           "ONNX files, workload YAMLs, layer-trace folders, or shipped names (default: the "
           "config's)")
      ->type_name("FILE|DIR|NAME,...");
  add_count(app, "--batch", {1, static_cast<std::uint64_t>(kMaxBatch)}, options.batch,
            "number of pictures at a time");
  add_scale_options(app, options);
  add_list(app, "--dataflow", options.dataflows,
           "the dataflows of the layers: some of them, or all; auto: the best one of each layer",
           {"all", "ws", "os", "is", "auto", "weight_stationary", "output_stationary",
            "input_stationary"})
      ->default_str("all");
  add_mapping_file_option(app, options);
  add_search_options(app, options);
  add_repeated(app, "--set", options.set,
               "give a field of the config these values in turn; of several such options, every "
               "combination runs")
      ->type_name("FIELD=VALUE,VALUE,...");
  add_energy_option(app, options);
  add_report_option(app, options);
  add_output_options(app, options);
}

void add_compare_options(CLI::App& app, Options& options) {
  app.add_option("results", options.results, "two files that --json of run or profile wrote")
      ->type_name("FILE FILE")
      ->expected(0, -1);  // check_profile_options() counts them
}

void check_profile_options(const Options& options, const CLI::App& app) {
  if (!options.fail_if.empty() && options.engine == "interpreter") {
    throw Error(ExitCode::kUsage,
                "--fail-if needs times, which --engine interpreter does not have; take another "
                "engine");
  }
  if (options.command == CommandName::kCompare) return require_two_files(options.results);
  if (options.command != CommandName::kProfile) return;
  require_each_once("--model", options.models);
  require_each_once("--config", options.configs);
  if (app.count("--csv-columns") > 0 && options.csv.empty()) {
    throw Error(ExitCode::kUsage, "--csv-columns needs --csv");
  }
}

}  // namespace qsim
