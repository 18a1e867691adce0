// A topology of several layers through compiler, golden and engine: each layer a network of its
// own, with a program of its own, the results added up.
#pragma once

#include "cli/session/engines/golden_backend.h"
#include "cli/session/inputs/topology_source.h"
#include "cli/session/results/condition_option.h"
#include "cli/session/run/run_options.h"
#include "cli/terminal/context.h"
#include "compiler/compile.h"
#include "core/machine/energy_table.h"
#include "report/html/timeline.h"
#include "report/run_report.h"

namespace qsim::cli {

// What is common to the layers of a topology. `context` and `options` must outlive it.
struct TopologyRun {
  Context& context;
  const RunCommandOptions& options;
  const TopologySource& source;
  const ArchConfig& config;
};

// `qsim run` of a topology of several layers.
ExitCode run_topology(const TopologyRun& run, GoldenSelection& golden,
                      const Conditions& conditions);

// Runs every layer on the engine that the options name. The report has everything but provenance.
// `timeline` becomes that of all layers, with --report.
report::RunReport run_layers(const TopologyRun& run, const std::optional<EnergyTable>& energy_table,
                             GoldenSelection& golden, std::vector<LayerMapping>& mappings,
                             report::Timeline& timeline);

}  // namespace qsim::cli
