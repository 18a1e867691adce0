// `qsim run`: a model and an input, through compiler and engine, compared with golden.
#include <sstream>

#include "compiler/compile.h"
#include "report/json_printer.h"
#include "report/table_printer.h"
#include "report/text_table.h"
#include "sim/cli/commands/commands.h"
#include "sim/cli/engines.h"
#include "sim/cli/golden_backend.h"
#include "sim/cli/network.h"
#include "sim/cli/output_classes.h"
#include "sim/cli/provenance.h"
#include "sim/cli/rtl_trace_option.h"
#include "sim/cli/run_folder.h"
#include "sim/cli/trace_guard.h"

namespace qsim {
namespace {

EngineSettings settings_of(Context& context) {
  EngineSettings settings;
  settings.trace = rtl_trace_option(context.options());
  settings.on_build = [&context](const std::string& line) {
    context.note(line);
    context.progress("building an RTL model");
  };
  return settings;
}

RunResult simulate(const Program& program, const Tensor& input, Context& context) {
  const Options& options = context.options();
  EngineSettings settings = settings_of(context);
  std::unique_ptr<FileReplacement> trace;
  std::optional<TraceGuard> guard;
  if (settings.trace) {
    trace = context.begin_file(options.trace);
    guard.emplace(*trace);
    settings.trace->path = trace->temporary();
  }
  std::unique_ptr<Engine> engine = make_engine(options.engine, settings);
  if (options.no_data && !engine->has_time()) {
    throw Error(ExitCode::kUsage, "--no-data leaves nothing to do for --engine " + options.engine +
                                      ", which has no time");
  }
  prepare_engine(options.engine, program.arch, settings);
  context.progress("simulating " + with_thousands(program.command_count()) + " commands with " +
                   options.engine);
  double seconds = 0;
  RunResult result = timed(seconds, [&] {
    return engine->run(program, input, {.move_data = !options.no_data, .seed = options.seed});
  });
  if (result.wall_seconds == 0) result.wall_seconds = seconds;  // an engine may measure itself
  engine.reset();                                               // ends the trace
  if (trace) {
    require_whole_fst(trace->temporary(), trace->target());
    trace->sync_written();
    context.keep_file(*trace);
  }
  return result;
}

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

std::optional<VerifySummary> compare(const Program& program, const std::vector<Tensor>& golden,
                                     const RunResult& result, const std::string& backend,
                                     const Options& options) {
  if (options.no_data || options.no_verify) return std::nullopt;
  return VerifySummary{backend, compare_ofmaps(program, golden, result)};
}

void print(const RunReport& report, Context& context) {
  std::ostringstream text;
  print_run(report, text);
  context.print_json(run_json(report));
  context.print(text.str());
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
        [&] { prepare_engine(options.engine, config, settings_of(context)); });
  std::vector<Tensor> expected = timed(report.phases.golden, [&] {
    return golden_tensors(network, compilation.ofmap_layers(), golden, context);
  });
  const Program program =
      timed(report.phases.compile, [&] { return program_of(compilation, network, options); });
  RunResult result =
      timed(report.phases.simulate, [&] { return simulate(program, network.input, context); });

  add_layers(report, program, result);
  report.provenance = provenance_of(context.argv(), options, network);
  report.provenance.rtl_model = rtl_model_of(options.engine, config, settings_of(context));
  report.verify = compare(program, expected, result, golden.name(), options);
  if (!result.ofmaps.empty()) report.top = classes_of(network, result.ofmaps.back());
  keep_run(context, report, network, program, result);
  dump_layers(context, network, program, result, expected);
  print(report, context);
  const bool differs = report.verify && report.verify->comparison.mismatches() > 0;
  if (differs) return ExitCode::kMismatch;
  if (report.total.timing) require_window_in_run(options, report.total.timing->cycles);
  return ExitCode::kOk;
}

}  // namespace qsim
