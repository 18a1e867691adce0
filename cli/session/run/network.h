// What `run` and `export-vectors` work on: a network and its input, ready to compile.
#pragma once

#include <string>
#include <vector>

#include "cli/host_tensors/host_layout.h"
#include "cli/session/engines/golden_backend.h"
#include "cli/session/engines/memory_need.h"
#include "cli/session/inputs/model_source.h"
#include "cli/terminal/context.h"
#include "compiler/compile.h"
#include "core/machine/arch_config.h"
#include "report/run_report.h"

namespace qsim::cli {

struct Network {
  std::string model;  // as the user named it
  Graph graph;
  std::optional<Graph> unsnapped;   // with --snap: the graph before
  compiler::CompileOptions asked;   // how it is compiled
  OutputForm output;                // of the graph; stays when the compiler takes the graph
  Tensor input;                     // NHWC in the graph's input dtype; zeros when no data is wanted
  std::vector<std::string> labels;  // of the output's classes; may be empty
  report::Provenance provenance;
};

// What is asked of the import.
struct ImportRequest {
  NetworkRequest network;
  const InputOptions& input;
  const MappingOptions& mapping;
  NeedOf need;
  bool no_data = false;
  bool wants_hashes = false;  // of the files that are read, for the provenance
};

// The import phase: the model, its input, and what the report says of both; cut to --layers, whose
// input `golden` computes. Throws Error, also when a file was written to while it was read.
Network import_network(Context& context, const ImportRequest& request, const ArchConfig& config,
                       GoldenSelection& golden);

}  // namespace qsim::cli
