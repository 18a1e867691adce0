// `qsim run`: a model and an input, through compiler and engine, compared with golden.
#include "cli/commands/commands.h"
#include "cli/session/engines/engines.h"
#include "cli/session/engines/golden_backend.h"
#include "cli/session/inputs/mapping_request.h"
#include "cli/session/inputs/model_source.h"
#include "cli/session/results/condition_option.h"
#include "cli/session/results/report_page_option.h"
#include "cli/session/run/hosted_run.h"
#include "cli/session/run/network.h"
#include "cli/session/run/ofmap_sink.h"
#include "cli/session/run/run_folder.h"
#include "cli/session/run/run_verdict.h"
#include "cli/session/run/simulation.h"
#include "cli/session/run/snap_error.h"
#include "cli/session/run/topology_run.h"
#include "cli/session/traces/command_trace.h"
#include "compiler/compile.h"

namespace qsim::cli {

using compiler::Compilation;
using report::require_conditions;
namespace {

// Looks for a GPU only where golden has something to compute.
GoldenSelection golden_of(Context& context, const RunCommandOptions& options) {
  const bool used =
      options.wants_golden() || (!options.no_data && (!options.layers.empty() || options.snap));
  return {"", used ? "auto" : "cpu", context.notes()};
}

// Keeps the tensors of the layers that are compared, or of all layers for --dump-layers.
std::vector<Tensor> golden_tensors(const Compilation& compilation, const Tensor& input,
                                   GoldenSelection& golden, Context& context,
                                   const RunCommandOptions& options) {
  if (!options.wants_golden()) return {};
  context.progress("running golden");
  std::vector<bool> kept = compilation.ofmap_layers();
  if (!options.dump_layers.empty()) kept.assign(kept.size(), true);
  return golden.run_once(compilation.graph(), input, kept);
}

// Only --dump-layers reads the graph's weights again. Times need no weights at all.
Program program_of(Compilation& compilation, const RunCommandOptions& options) {
  if (options.no_data) return compilation.commands();
  return options.dump_layers.empty() ? std::move(compilation).program() : compilation.program();
}

ExitCode run_network(Context& context, const RunCommandOptions& options, const ArchConfig& config,
                     GoldenSelection& golden, const Conditions& conditions) {
  const NetworkRequest request = network_of(options);
  report::RunReport report;
  report.engine = options.engine;
  report::PhaseSeconds& phases = report.phases;
  const std::optional<EnergyTable> energy_table = load_energy_table(options);
  Network network = timed(phases.import, [&] {
    return import_network(context,
                          {request, options, options, need_of(options), options.no_data,
                           options.wants_hashes(context.has_json())},
                          config, golden);
  });
  require_dump_fits(options, network.graph);
  Compilation compilation = timed(
      phases.compile, [&] { return Compilation(std::move(network.graph), config, network.asked); });
  note_ended_searches(context, network.asked);
  const std::vector<LayerMapping> mappings = compilation.mappings();
  const std::vector<LayerBounds> bounds = compilation.bounds();
  write_mappings(context, options.write_mapping, network.model, config, mappings);
  const std::optional<LayerRange> traced =
      trace_layers(options, network.model, compilation.graph());
  // What cannot run is an error before golden works for it.
  timed(phases.simulate,
        [&] { prepare_engine(options.engine, config, engine_settings(context, options)); });
  std::vector<Tensor> expected = timed(phases.golden, [&] {
    return golden_tensors(compilation, network.input, golden, context, options);
  });
  if (network.unsnapped && !options.no_data) {
    report.snap = timed(phases.golden, [&] {
      return snap_error(compilation.graph(), *network.unsnapped, network.input, golden);
    });
  }
  const Program program = timed(phases.compile, [&] { return program_of(compilation, options); });
  OfmapSink sink(program, expected, !options.no_data && !options.no_verify,
                 !options.dump_layers.empty());
  const RunResult result = simulate(program, network.input, sink, phases, context, options);

  report::add_layers(report, program, result);
  report::add_mappings(report, mappings);
  report::add_bounds(report, bounds);
  report.prints_bounds = options.bounds;
  if (energy_table) report::add_energy(report, program, *energy_table);
  report.provenance = network.provenance;
  report.provenance.rtl_model =
      rtl_model_of(options.engine, config, engine_settings(context, options));
  write_command_trace(context, options, options.engine, program.name, program, result, traced);
  const ExitCode code = finish_run(
      context, options, report,
      {network, compilation.graph(), sink, golden.name(), expected, program, result.times});
  if (code == ExitCode::kOk) require_conditions(conditions, report);
  return code;
}

ExitCode run_command(Context& context, const RunCommandOptions& options) {
  const NetworkRequest request = network_of(options);
  make_output_folders(context, options);
  require_report_can_be_made(options.report, options.engine);
  const Conditions conditions =
      load_conditions(options.fail_if, !options.energy.empty(), options.dataflow == kAutoDataflow);
  GoldenSelection golden = golden_of(context, options);
  const ArchConfig config = load_config(context, options);
  const std::optional<TopologySource> topology = find_topology(request, config);
  if (topology && topology->topology.layers.size() > 1) {
    return run_topology({context, options, *topology, config}, golden, conditions);
  }
  const auto on_array = [&](const ArchConfig& array) {
    return run_network(context, options, array, golden, conditions);
  };
  const auto with_host = [&] { return run_hosted(context, options, config, golden, conditions); };
  return run_as_it_can(context, request, options, config, on_array, with_host);
}

constexpr const char* kRunText = R"(
It prints the layers, what each costs and what limits it, where the cycles went, and the best classes. `run.json` in the
folder of `--out` is written last: if it is there, the other files are complete. In a trace, cycle c is at c ns. A
`--trace-window` that begins after the last cycle ends with exit code 3, after the results are written. The page of
`--report` and the JSON are in [output](output.md), and so are the conditions of `--fail-if`; `--bounds` prints the lower
bounds. The engine `recurrence` computes the cycles without a simulation ([timing model](timing_model.md)).
)";

}  // namespace

const CommandRow kRunCommand = {"run", "simulate a model on an input and compare it with golden",
                                command_of<RunCommandOptions, declare_run, run_command>, kRunText};

}  // namespace qsim::cli
