#include "cli/session/run/topology_run.h"

#include <algorithm>
#include <map>

#include "cli/session/engines/memory_need.h"
#include "cli/session/inputs/mapping_request.h"
#include "cli/session/results/report_page_option.h"
#include "cli/session/run/ofmap_sink.h"
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

// One engine for all layers: SystemC elaborates once a process.
class LayerRunner {
 public:
  LayerRunner(const TopologyRun& run, GoldenSelection& golden)
      : run_(run),
        options_(run.options),
        settings_(engine_settings(run.context, run.options)),
        golden_(golden),
        engine_(make_engine(options_.engine, settings_)) {
    if (options_.no_data && !engine_->has_time()) {
      throw Error(ExitCode::kUsage, "--no-data does not work with --engine " + options_.engine +
                                        ", which computes data and no times");
    }
    prepare_engine(options_.engine, run.config, settings_);
  }

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
    const Done done = run_layer(layer, energy_table, sum);
    mappings.push_back(done.mapping);
    report::add_run(sum, done.report);
    if (may_repeat()) done_.emplace(layer, done);
  }

  // The layers that have run, in their order; empty without --report.
  const Timeline& timeline() const { return timeline_; }

  // The searches of all layers; layers of one kind are searched once.
  const compiler::CompileOptions& searched() const { return searched_; }

 private:
  // A layer's program has one layer.
  struct Done {
    RunReport report;
    LayerMapping mapping;
  };

  // A page has each layer's own timeline, and --mapping may name any of them.
  bool may_repeat() const {
    return options_.no_data && options_.report.empty() && options_.mapping.empty();
  }

  Done run_layer(std::size_t layer, const std::optional<EnergyTable>& energy_table,
                 RunReport& sum) {
    report::PhaseSeconds& phases = sum.phases;
    Model model =
        timed(phases.import, [&] { return layer_model(run_.source, layer, request_.tensors); });
    compiler::CompileOptions asked = compile_options(run_.context, request_, options_, run_.config,
                                                     model.graph, &run_.source.file);
    asked.known = searched_.known;
    require_memory_for(model.name, model.graph, run_.config, need_, asked);
    compiler::Compilation compilation = timed(phases.compile, [&] {
      return compiler::Compilation(std::move(model.graph), run_.config, asked);
    });
    const std::vector<LayerMapping> chosen = compilation.mappings();
    const std::vector<LayerBounds> bounds = compilation.bounds();
    std::vector<Tensor> expected =
        timed(phases.golden, [&] { return golden_tensors(compilation, *model.own_input); });
    const Program program = timed(phases.compile, [&] {
      return options_.no_data ? compilation.commands() : std::move(compilation).program();
    });
    OfmapSink sink(program, expected, options_.wants_golden(), false);
    RunReport part;
    part.engine = options_.engine;
    const RunResult result = simulate_layer(program, *model.own_input, sink, phases);
    report::add_layers(part, program, result);
    if (!options_.report.empty()) {
      report::append(timeline_, report::timeline_of(program, result.times),
                     static_cast<std::uint32_t>(sum.layers.size()));
    }
    report::add_mappings(part, chosen);
    report::add_bounds(part, bounds);
    if (energy_table) report::add_energy(part, program, *energy_table);
    add_comparison(sum, sink);
    return {std::move(part), chosen.front()};
  }

  std::vector<Tensor> golden_tensors(const compiler::Compilation& compilation,
                                     const Tensor& input) {
    if (!options_.wants_golden()) return {};
    return golden_.run_once(compilation.graph(), input, compilation.ofmap_layers());
  }

  RunResult simulate_layer(const Program& program, const Tensor& input, OfmapSink& sink,
                           report::PhaseSeconds& phases) {
    const auto take = [&sink](std::size_t layer, std::span<const std::byte> dram) {
      sink.take(layer, dram);
    };
    RunResult result = timed(phases.simulate, [&] {
      return engine_->run(
          program, input,
          {.move_data = !options_.no_data, .seed = options_.seed, .take_ofmap = take});
    });
    phases.simulate -= sink.seconds();
    phases.compare += sink.seconds();
    return result;
  }

  void add_comparison(RunReport& sum, const OfmapSink& sink) const {
    const std::optional<report::Comparison> comparison = sink.comparison();
    if (!comparison) return;
    if (!sum.verify) sum.verify = report::VerifySummary{golden_.name(), {}};
    report::Comparison& all = sum.verify->comparison;
    all.layers.insert(all.layers.end(), comparison->layers.begin(), comparison->layers.end());
    if (!all.first) all.first = comparison->first;
    sum.verify->golden = golden_.name();
  }

  const TopologyRun& run_;
  const RunCommandOptions& options_;
  NetworkRequest request_ = network_of(options_);
  NeedOf need_ = need_of(options_);
  EngineSettings settings_;
  GoldenSelection& golden_;
  std::unique_ptr<Engine> engine_;
  Timeline timeline_;
  compiler::CompileOptions searched_;  // its searches are those of all layers
  std::map<std::size_t, Done> done_;   // by the first layer of its sizes
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
  note_ended_searches(run.context, runner.searched());
  timeline = runner.timeline();
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
