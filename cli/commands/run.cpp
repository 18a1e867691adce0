// `qsim run`: a model and an input, through compiler and engine, compared with golden.
#include "cli/commands/commands.h"
#include "cli/session/engines/engines.h"
#include "cli/session/engines/golden_backend.h"
#include "cli/session/inputs/mapping_request.h"
#include "cli/session/inputs/model_source.h"
#include "cli/session/results/condition_option.h"
#include "cli/session/results/report_page_option.h"
#include "cli/session/run/network.h"
#include "cli/session/run/ofmap_sink.h"
#include "cli/session/run/run_folder.h"
#include "cli/session/run/run_verdict.h"
#include "cli/session/run/simulation.h"
#include "cli/session/run/snap_error.h"
#include "cli/session/run/topology_run.h"
#include "cli/session/traces/command_trace.h"
#include "compiler/compile.h"

namespace qsim {
namespace {

bool wants_golden(const Options& options) {
  return !options.no_data && (!options.no_verify || !options.dump_layers.empty());
}

// Without anything to compute no GPU is looked for.
GoldenSelection golden_of(Context& context) {
  const Options& options = context.options();
  const bool used =
      wants_golden(options) || (!options.no_data && (!options.layers.empty() || options.snap));
  return {"", used ? "auto" : "cpu", [&context](const std::string& line) { context.note(line); }};
}

// Of the layers whose tensors are compared; of all that --dump-layers will write.
std::vector<Tensor> golden_tensors(const Compilation& compilation, const Tensor& input,
                                   GoldenSelection& golden, Context& context) {
  const Options& options = context.options();
  if (!wants_golden(options)) return {};
  context.progress("running golden");
  std::vector<bool> kept = compilation.ofmap_layers();
  if (!options.dump_layers.empty()) kept.assign(kept.size(), true);
  return golden.run_once(compilation.graph(), input, kept);
}

// Only --dump-layers reads the graph's weights again. Times need no weights at all.
Program program_of(Compilation& compilation, const Options& options) {
  if (options.no_data) return compilation.commands();
  return options.dump_layers.empty() ? std::move(compilation).program() : compilation.program();
}

}  // namespace

ExitCode run_command(Context& context) {
  const Options& options = context.options();
  RunReport report;
  report.engine = options.engine;
  PhaseSeconds& phases = report.phases;
  make_output_folders(context);
  require_report_can_be_made(options);

  const Conditions conditions = load_conditions(options);
  GoldenSelection golden = golden_of(context);
  const ArchConfig config = load_config(context);
  const std::optional<TopologySource> topology = find_topology(options, config);
  if (topology && topology->topology.layers.size() > 1) {
    return run_topology(context, *topology, config, golden, conditions);
  }
  const std::optional<EnergyTable> energy_table = load_energy_table(options);
  Network network = timed(phases.import, [&] { return import_network(context, config, golden); });
  require_dump_fits(context, network.graph);
  Compilation compilation = timed(
      phases.compile, [&] { return Compilation(std::move(network.graph), config, network.asked); });
  note_ended_searches(context, network.asked);
  const std::vector<LayerMapping> mappings = compilation.mappings();
  const std::vector<LayerBounds> bounds = compilation.bounds();
  write_mappings(context, network.model, config, mappings);
  const std::optional<LayerRange> traced =
      trace_layers(options, network.model, compilation.graph());
  // What cannot run is an error before golden works for it.
  timed(phases.simulate, [&] { prepare_engine(options.engine, config, engine_settings(context)); });
  std::vector<Tensor> expected = timed(
      phases.golden, [&] { return golden_tensors(compilation, network.input, golden, context); });
  if (network.unsnapped && !options.no_data) {
    report.snap = timed(phases.golden, [&] {
      return snap_error(compilation.graph(), *network.unsnapped, network.input, golden);
    });
  }
  const Program program = timed(phases.compile, [&] { return program_of(compilation, options); });
  OfmapSink sink(program, expected, options);
  const RunResult result = simulate(program, network.input, sink, phases, context);

  add_layers(report, program, result);
  add_mappings(report, mappings);
  add_bounds(report, bounds);
  report.prints_bounds = options.bounds;
  if (energy_table) add_energy(report, program, *energy_table);
  report.provenance = network.provenance;
  report.provenance.rtl_model = rtl_model_of(options.engine, config, engine_settings(context));
  write_command_trace(context, program.name, program, result, traced);
  const ExitCode code = finish_run(
      context, report,
      {network, compilation.graph(), sink, golden.name(), expected, program, result.times});
  if (code == ExitCode::kOk) require_conditions(conditions, report);
  return code;
}

}  // namespace qsim
