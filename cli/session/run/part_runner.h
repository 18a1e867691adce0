// Runs networks one after the other on one engine, for a report that adds them up: the layers of a
// topology, or the parts that the array has of a network.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cli/session/engines/golden_backend.h"
#include "cli/session/run/ofmap_sink.h"
#include "cli/session/run/run_options.h"
#include "cli/terminal/context.h"
#include "compiler/compile.h"
#include "core/machine/energy_table.h"
#include "report/html/timeline.h"
#include "report/run_report.h"

namespace qsim::cli {

class PartRunner {
 public:
  // What is run: a graph, its input and how it is compiled.
  struct Part {
    Graph graph;
    const Tensor& input;  // NHWC in the graph's input dtype
    compiler::CompileOptions asked;
  };
  struct Result {
    report::RunReport report;  // of this part alone
    std::vector<LayerMapping> mappings;
    std::optional<Tensor> last;  // the last ofmap; absent without data
  };

  // All must outlive it. Throws Error for options that leave the engine nothing to do.
  PartRunner(Context& context, const RunCommandOptions& options, const ArchConfig& config,
             GoldenSelection& golden);

  // Adds the part's phases and comparison to `sum`, whose layers come before the part's.
  Result run(Part part, const std::optional<EnergyTable>& energy_table, report::RunReport& sum);

  // The layers that have run, in their order; empty without --report.
  const report::Timeline& timeline() const { return timeline_; }
  // The searches of all parts; layers of one kind are searched once.
  const compiler::CompileOptions& searched() const { return searched_; }

 private:
  std::vector<Tensor> golden_tensors(const compiler::Compilation& compilation, const Tensor& input);
  RunResult simulate(const Program& program, const Tensor& input, OfmapSink& sink,
                     report::PhaseSeconds& phases);
  void add_comparison(report::RunReport& sum, const OfmapSink& sink) const;

  const RunCommandOptions& options_;
  const ArchConfig& config_;
  NeedOf need_;
  EngineSettings settings_;
  GoldenSelection& golden_;
  std::unique_ptr<Engine> engine_;  // one: SystemC elaborates once a process
  report::Timeline timeline_;
  compiler::CompileOptions searched_;
};

}  // namespace qsim::cli
