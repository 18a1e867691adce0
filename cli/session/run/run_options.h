// The options of `qsim run`.
#pragma once

#include <string>

#include "cli/session/engines/engines.h"
#include "cli/session/engines/memory_need.h"
#include "cli/session/inputs/hosted_model.h"
#include "cli/session/inputs/model_source.h"
#include "cli/session/traces/trace_options.h"
#include "cli/terminal/output_folders.h"
#include "cli/terminal/shared_options.h"
#include "cli/terminal/usage_error.h"
#include "formats/traces/layer_trace.h"

namespace qsim::cli {

struct RunCommandOptions : ConfigOption,
                           NetworkOptions,
                           HostOptions,
                           InputOptions,
                           MappingOptions,
                           TraceOptions {
  std::string write_mapping;  // a file, "-" for stdout, "" for none
  std::string engine = std::string(kDefaultEngine);
  bool no_data = false;
  bool no_verify = false;
  std::string out;          // a folder; "" for none
  std::string dump_layers;  // the same
  std::string report;       // an HTML file; "" for none
  Words fail_if;            // conditions
  bool bounds = false;

  bool wants_golden() const { return !no_data && (!no_verify || !dump_layers.empty()); }
  // Whether a report prints digests of the files that are read; those of large models take time.
  bool wants_hashes(bool has_json) const { return has_json || !out.empty() || !report.empty(); }
};

inline void check_run(const RunCommandOptions& options) {
  const EngineRow& engine = engine_row(options.engine);
  if (!options.fail_if.empty() && !engine.has_time) {
    usage_error("--fail-if needs times, which --engine " + options.engine +
                " does not have; take another engine");
  }
  check_trace(options, options.engine);
  if (!options.shapes.empty() && !options.input.empty()) {
    usage_error("--input has its shape; leave --shape out");
  }
  if (options.no_data && engine.runs_rtl) {
    usage_error("--no-data does not work with --engine " + options.engine +
                ", which always computes the data");
  }
  if (!options.no_data && !engine.has_data) {
    usage_error("--engine " + options.engine + " computes times and no data; add --no-data");
  }
  if (options.no_data && !options.dump_layers.empty()) {
    usage_error(
        "--dump-layers writes data, which --no-data does not compute; leave one of them out");
  }
}

inline void declare_run(Declarations& declared, RunCommandOptions& options) {
  declare_config(declared, options);
  declare_set(declared, options);
  declare_network(declared, options);
  declare_host(declared, options);
  declare_shapes(declared, options);
  declare_input(declared, options);
  declare_mapping(declared, options);
  declare_dram_plan(declared, options);
  declare_write_mapping(declared, options.write_mapping);
  declared.word("--engine", options.engine, engine_names(), "the engine that executes the program");
  declare_trace(declared, options);
  declared.flag("--no-data", options.no_data,
                "compute the cycles only: move no data, compare nothing");
  declared.flag("--no-verify", options.no_verify, "do not compare with golden");
  declared.output_folder(
      "--out", options.out, is_run_file,
      "write config.yaml, run.json, layers.csv, output.npy and output_q.npy to this folder");
  declared.output_folder(
      "--dump-layers", options.dump_layers, formats::is_layer_trace_file,
      "write a layer trace to this folder: the engine's ofmaps, and golden's for graph "
      "layers that run fused inside another");
  declare_reported_energy(declared, options);
  declare_page(declared, options.report);
  declare_fail_if(declared, options.fail_if);
  declared.flag("--bounds", options.bounds,
                "also print what no mapping of each layer does better, and how near it is");
  declared.check([&] { check_run(options); });
}

inline NetworkRequest network_of(const RunCommandOptions& options) {
  return {options,        options, options.no_data ? Tensors::kShapes : Tensors::kDrawn,
          options.layers, "",      "name one with --layers"};
}

inline NeedOf need_of(const RunCommandOptions& options) {
  return need_of_run({.moves_data = !options.no_data,
                      .compares = !options.no_verify,
                      .dumps_layers = !options.dump_layers.empty(),
                      .keeps_output = !options.out.empty(),
                      .frees_ofmaps = engine_row(options.engine).frees_ofmaps});
}

}  // namespace qsim::cli
