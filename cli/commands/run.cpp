// `qsim run`: a model and an input, through compiler and engine, compared with golden.
#include "cli/commands/commands.h"
#include "cli/session/engines.h"
#include "cli/session/golden_backend.h"
#include "cli/session/network.h"
#include "cli/session/ofmap_sink.h"
#include "cli/session/provenance.h"
#include "cli/session/run_folder.h"
#include "cli/session/run_verdict.h"
#include "cli/session/simulation.h"
#include "compiler/compile.h"

namespace qsim {
namespace {

bool wants_golden(const Options& options) {
  return !options.no_data && (!options.no_verify || !options.dump_layers.empty());
}

// Without anything to compute no GPU is looked for.
GoldenSelection golden_of(Context& context) {
  const Options& options = context.options();
  const bool used = wants_golden(options) || (!options.no_data && !options.layers.empty());
  return {"", used ? "auto" : "cpu", [&context](const std::string& line) { context.note(line); }};
}

// Of the layers whose tensors are compared; of all that --dump-layers will write.
std::vector<Tensor> golden_tensors(const Network& network, std::vector<bool> ofmap_layers,
                                   GoldenSelection& golden, Context& context) {
  const Options& options = context.options();
  if (!wants_golden(options)) return {};
  context.progress("running golden");
  if (!options.dump_layers.empty()) ofmap_layers.assign(ofmap_layers.size(), true);
  return golden.run_once(network.model.graph, network.input, ofmap_layers);
}

// Gives the program the memory of the graph's weights, which only --dump-layers reads again.
Program program_of(const Compilation& compilation, Network& network, const Options& options) {
  return options.dump_layers.empty() ? compilation.program_taking_weights(network.model.graph)
                                     : compilation.program();
}

}  // namespace

ExitCode run_command(Context& context) {
  const Options& options = context.options();
  RunReport report;
  report.engine = options.engine;
  make_output_folders(context);

  GoldenSelection golden = golden_of(context);
  const ArchConfig config = load_config(options);
  Network network =
      timed(report.phases.import, [&] { return import_network(options, config, golden); });
  const Compilation compilation =
      timed(report.phases.compile, [&] { return Compilation(network.model.graph, config); });
  // What cannot run is an error before golden works for it.
  timed(report.phases.simulate,
        [&] { prepare_engine(options.engine, config, engine_settings(context)); });
  std::vector<Tensor> expected = timed(report.phases.golden, [&] {
    return golden_tensors(network, compilation.ofmap_layers(), golden, context);
  });
  const Program program =
      timed(report.phases.compile, [&] { return program_of(compilation, network, options); });
  OfmapSink sink(program, expected, options);
  const RunResult result = simulate(program, network.input, sink, report.phases, context);

  add_layers(report, program, result);
  report.provenance = provenance_of(context.argv(), options, network);
  report.provenance.rtl_model = rtl_model_of(options.engine, config, engine_settings(context));
  return finish_run(context, report, {network, program, sink, golden.name(), expected});
}

}  // namespace qsim
