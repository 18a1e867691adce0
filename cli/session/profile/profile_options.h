// The options of `qsim profile`.
#pragma once

#include <algorithm>

#include "cli/session/inputs/hosted_model.h"
#include "cli/session/inputs/model_source.h"
#include "cli/terminal/shared_options.h"
#include "cli/terminal/usage_error.h"

namespace qsim::cli {

struct ProfileOptions : ScaleOptions, ShapeOptions, SearchOptions {
  Words configs = {kDefaultConfig};
  Words models;  // empty: the configuration's
  std::optional<std::int64_t> batch;
  Words dataflows = {"all"};  // short or long names, or "all"
  Words set;                  // "array_rows=8,16"
  std::string report;         // an HTML file; "" for none
  std::string csv;            // a file, "-" for stdout, "" for none
  std::string csv_columns = "qsim";
  Words fail_if;                     // conditions
  std::string resume;                // a file; "" for none
  std::optional<std::int64_t> jobs;  // absent: as many as processors
};

// Refuses a name that is given twice: a reader could not tell the rows of two equal points apart.
inline void require_each_once(const std::string& option, const Words& names) {
  for (auto name = names.begin(); name != names.end(); ++name) {
    if (std::count(names.begin(), name, *name) == 0) continue;
    usage_error(option + ": names '" + *name + "' twice; name each one once");
  }
}

inline void declare_profile_outputs(Declarations& declared, ProfileOptions& options) {
  declare_page(declared, options.report);
  declared.output_place("--csv", options.csv, "also write the layers as a table; - is stdout");
  declared.word("--csv-columns", options.csv_columns,
                {"qsim", "scalesim-compute", "scalesim-bandwidth", "scalesim-access"},
                "the columns of --csv");
  declare_fail_if(declared, options.fail_if);
  declared.output_file("--resume", options.resume,
                       "keep finished points in this file, and take from it those that are there");
  declared.number("--jobs", {1, kMostThreads}, options.jobs,
                  "points at a time (default: the number of processors)");
}

inline void declare_profile(Declarations& declared, ProfileOptions& options) {
  declared.list("--config", options.configs, "accelerators: YAML files, or shipped names")
      .called("FILE|NAME,...")
      .shows(kDefaultConfig)
      .read(Reads::kConfig, "the configuration");
  declared.begin_group(kEveryCommand);
  declared.declare_outputs();
  declared.end_group();
  declared
      .list("--model", options.models,
            "ONNX files, workload YAMLs, layer-trace folders, or shipped names (default: the "
            "config's)")
      .called("FILE|DIR|NAME,...")
      .read(Reads::kNetworkOrConfig, "the model");
  declare_batch(declared, options.batch, "number of pictures at a time");
  declare_scales(declared, options);
  declare_shapes(declared, options);
  declared
      .list("--dataflow", options.dataflows,
            "the dataflows of the layers: some of them, or all; auto: the best one of each layer",
            dataflow_words({"all"}, {kAutoDataflow}))
      .shows("all");
  declare_mapping_file(declared, options);
  declare_search(declared, options);
  declared
      .repeated("--set", options.set,
                "give a field of the config these values in turn; of several such options, every "
                "combination runs")
      .called("FIELD=VALUE,VALUE,...");
  declare_reported_energy(declared, options);
  declare_profile_outputs(declared, options);
  declared.check([&] {
    require_each_once("--model", options.models);
    require_each_once("--config", options.configs);
    if (!declared.given("--csv-columns") || !options.csv.empty()) return;
    usage_error("--csv-columns needs --csv");
  });
}

// The request for one of the models.
inline NetworkRequest network_of(const ProfileOptions& options, const std::string& model) {
  NetworkRequest request;
  request.rounding = options.rounding;
  request.snap = options.snap;
  request.model = model;
  request.batch = options.batch;
  request.tensors = Tensors::kShapes;
  return request;
}

}  // namespace qsim::cli
