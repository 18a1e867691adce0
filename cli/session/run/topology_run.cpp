#include "cli/session/run/topology_run.h"

#include <algorithm>
#include <map>

#include "cli/session/inputs/mapping_request.h"
#include "cli/session/results/report_page_option.h"
#include "cli/session/run/part_runner.h"
#include "cli/session/run/provenance.h"
#include "cli/session/run/run_folder.h"
#include "cli/session/run/run_verdict.h"
#include "cli/session/run/simulation.h"
#include "report/run_sum.h"
#include "report/text_table.h"

namespace qsim::cli {

using report::require_conditions;
using report::RunReport;
using report::Timeline;
namespace {

class LayerRunner {
 public:
  LayerRunner(const TopologyRun& run, GoldenSelection& golden)
      : run_(run), runner_(run.context, run.options, run.config, golden) {}

  // Adds the layer's run to `sum`, its mapping to `mappings`. Without data, one that is like an
  // earlier one has the same times.
  void run(std::size_t layer, const std::optional<EnergyTable>& energy_table, RunReport& sum,
           std::vector<LayerMapping>& mappings) {
    const std::size_t first = formats::first_alike(run_.source.topology, layer);
    const auto known = done_.find(first);
    if (known != done_.end()) {
      Done again = known->second;
      again.report.layers.front().name = run_.source.topology.layers[layer].name;
      again.report.wall_seconds = 0;
      again.mapping.layer = again.report.layers.front().name;
      mappings.push_back(std::move(again.mapping));
      return report::add_run(sum, again.report);
    }
    Model model =
        timed(sum.phases.import, [&] { return layer_model(run_.source, layer, request_.tensors); });
    compiler::CompileOptions asked = compile_options(run_.context, request_, run_.options,
                                                     run_.config, model.graph, &run_.source.file);
    PartRunner::Result ran =
        runner_.run({std::move(model.graph), *model.own_input, asked}, energy_table, sum);
    const Done done = {std::move(ran.report), ran.mappings.front()};
    mappings.push_back(done.mapping);
    report::add_run(sum, done.report);
    if (may_repeat()) done_.emplace(layer, done);
  }

  const PartRunner& runner() const { return runner_; }

 private:
  // A layer's program has one layer.
  struct Done {
    RunReport report;
    LayerMapping mapping;
  };

  // A page has each layer's own timeline, and --mapping may name any of them.
  bool may_repeat() const {
    const RunCommandOptions& options = run_.options;
    return options.no_data && options.report.empty() && options.mapping.empty();
  }

  const TopologyRun& run_;
  NetworkRequest request_ = network_of(run_.options);
  PartRunner runner_;
  std::map<std::size_t, Done> done_;  // by the first layer of its sizes
};

}  // namespace

RunReport run_layers(const TopologyRun& run, const std::optional<EnergyTable>& energy_table,
                     GoldenSelection& golden, std::vector<LayerMapping>& mappings,
                     Timeline& timeline) {
  RunReport sum;
  LayerRunner runner(run, golden);
  const std::size_t layers = run.source.topology.layers.size();
  for (std::size_t i = 0; i < layers; ++i) {
    run.context.progress("layer " + report::with_thousands(i + 1) + " of " +
                         report::with_thousands(layers) + ", '" +
                         run.source.topology.layers[i].name + "'");
    runner.run(i, energy_table, sum, mappings);
  }
  if (energy_table) report::sum_energy(sum, *energy_table);
  note_ended_searches(run.context, runner.runner().searched());
  timeline = runner.runner().timeline();
  return sum;
}

ExitCode run_topology(const TopologyRun& run, GoldenSelection& golden,
                      const Conditions& conditions) {
  const auto& [context, options, source, config] = run;
  const NetworkRequest request = network_of(options);
  require_options_of_several(source, request,
                             {{!options.input.empty(), "--input"},
                              {options.index.has_value(), "--index"},
                              {!options.trace.empty(), "--trace"},
                              {!options.dump_layers.empty(), "--dump-layers"}});
  const std::optional<EnergyTable> energy_table = load_energy_table(options);
  Model named;  // what provenance says of the model
  named.name = source.name;
  named.path = source.path;
  const report::Provenance provenance = provenance_of(context.argv(), request, options.seed, named,
                                                      {}, options.wants_hashes(context.has_json()));
  std::vector<LayerMapping> mappings;
  Timeline timeline;
  RunReport report = run_layers(run, energy_table, golden, mappings, timeline);
  report.provenance = provenance;
  report.prints_bounds = options.bounds;
  report.provenance.rtl_model =
      rtl_model_of(options.engine, config, engine_settings(context, options));
  write_mappings(context, options.write_mapping, source.name, config, mappings);
  write_report(context, options.report, report, timeline);
  const ExitCode code = finish_report(context, options, report);
  if (code == ExitCode::kOk) require_conditions(conditions, report);
  return code;
}

}  // namespace qsim::cli
