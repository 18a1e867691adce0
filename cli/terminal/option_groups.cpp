#include "cli/terminal/option_groups.h"

#include <set>
#include <span>

#include "cli/build_info.h"
#include "cli/terminal/abc_options.h"
#include "cli/terminal/convert_options.h"
#include "cli/terminal/eval_options.h"
#include "cli/terminal/linear_options.h"
#include "cli/terminal/mapping_options.h"
#include "cli/terminal/output_files.h"
#include "cli/terminal/profile_options.h"
#include "cli/terminal/quantize_options.h"
#include "cli/terminal/trace_options.h"
#include "cli/terminal/usage_error.h"
#include "core/error.h"

namespace qsim {
namespace {

void refuse_stdout_as_folder(const std::string& option, const std::string& folder) {
  if (folder != "-") return;
  usage_error(option +
              ": expected a folder; - is not stdout here, and a folder of that name is ./-");
}

void refuse_stdout_as_file(const std::string& option, const std::string& file) {
  if (file != "-") return;
  usage_error(option + ": expected a file; - is not stdout here, and a file of that name is ./-");
}

}  // namespace

void check_together(const Options& options, const CLI::App& app) {
  if (options.command == CommandName::kVerify && options.seeds > 0) {
    std::vector<const char*> others = {"--model",  "--input",  "--index",    "--batch", "--layers",
                                       "--images", "--energy", "--rounding", "--snap"};
    const std::span<const char* const> mapping = mapping_option_names();
    others.insert(others.end(), mapping.begin(), mapping.end());
    for (const char* name : others) {
      if (app.count(name) > 0) {
        usage_error("--seeds makes its own layers; leave out " + std::string(name));
      }
    }
  }
  const std::set<std::string> engines(options.engines.begin(), options.engines.end());
  if (engines.size() != options.engines.size()) {
    usage_error("--engines names an engine twice; name each one once");
  }
  if (engines.contains("recurrence") && !engines.contains("systemc") && !engines.contains("rtl")) {
    usage_error(
        "--engines names recurrence, which computes times alone, and no engine whose times they "
        "are "
        "compared with; add systemc or rtl");
  }
  if (options.all_configs && options.seeds == 0) {
    usage_error("--all-configs needs --seeds; give --seeds N");
  }
  if (options.all_configs && options.config_given) {
    usage_error("--all-configs takes every shipped configuration; leave out --config");
  }
  if (options.snap && options.rounding == "float32") {
    usage_error("--snap makes shifts, which do not round as float32; leave --rounding out");
  }
  check_abc_options(options);
  check_eval_options(options);
  check_quantize_command_options(options, app);
  if (options.command == CommandName::kGoldenConvert) check_convert_options(options.convert, app);
  if (options.command == CommandName::kGoldenLinear) check_linear_options(options.linear, app);
  check_profile_options(options, app);
  check_mapping_options(options);
  refuse_stdout_as_folder("--out", options.out);
  refuse_stdout_as_folder("--dump-layers", options.dump_layers);
  check_trace_options(options);
  refuse_stdout_as_file("--report", options.report);
  refuse_stdout_as_file("--resume", options.resume);
  if (options.command == CommandName::kQuantize) {
    refuse_stdout_as_file("--out", options.program_out);
  }
  if (options.command == CommandName::kGoldenConvert) {
    refuse_stdout_as_file("--out", options.program_out);
    refuse_stdout_as_file("--out-scales", options.convert.out_scales);
    refuse_stdout_as_file("--out-zero-points", options.convert.out_zero_points);
    refuse_stdout_as_file("--out-back", options.convert.out_back);
  }
  if (options.command == CommandName::kGoldenLinear ||
      options.command == CommandName::kGoldenQuantize) {
    refuse_stdout_as_file("--out", options.program_out);
    refuse_stdout_as_file("--out-scales", options.linear.out_scales);
    refuse_stdout_as_file("--out-zero-points", options.linear.out_zero_points);
  }
  if (options.no_data && options.engine == "rtl") {
    usage_error("--no-data does not work with --engine rtl, which always computes the data");
  }
  if (!options.no_data && options.engine == "recurrence") {
    usage_error("--engine recurrence computes times and no data; add --no-data");
  }
  if (options.no_data && !options.dump_layers.empty()) {
    usage_error(
        "--dump-layers writes data, which --no-data does not compute; leave one of them out");
  }
  require_stdout_once(options);
}

std::string version_line() {
  return "qsim " + std::string(build_version()) + " (" + std::string(build_commit()) + ")";
}

}  // namespace qsim
