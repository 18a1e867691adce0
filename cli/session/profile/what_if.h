// The network on accelerators that differ in one resource, each compiled and run in time alone.
#pragma once

#include <string>
#include <vector>

#include "cli/session/inputs/model_source.h"
#include "cli/terminal/context.h"
#include "core/machine/engine.h"
#include "core/network/graph.h"
#include "report/limiter_words.h"

namespace qsim::cli {

// How the network is compiled.
struct TimeRequest {
  Context& context;
  const NetworkRequest& network;
  const MappingOptions& mapping;
};

// A program without constants, and the times of its commands.
struct TimedRun {
  Program program;
  RunResult result;
  Graph shapes;  // the network without its tensors
};

// `model` names the network in errors. Throws Error as Compilation does, and where there is too
// little memory.
TimedRun run_in_time(Engine& engine, const std::string& model, Graph graph,
                     const ArchConfig& config, const TimeRequest& request);

// One for each resource of the accelerator, in the order of its config: doubled, the latency of
// DRAM halved. A change that leaves the config's ranges, or that the network cannot be compiled
// for, has a refusal. Each change is a line of progress. `shapes` has no tensors.
std::vector<report::ResourceChange> run_with_changes(Engine& engine, const std::string& model,
                                                     const Graph& shapes, const ArchConfig& config,
                                                     const TimeRequest& request);

}  // namespace qsim::cli
