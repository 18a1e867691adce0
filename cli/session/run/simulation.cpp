#include "cli/session/run/simulation.h"

#include "cli/session/traces/rtl_trace_option.h"
#include "cli/session/traces/trace_guard.h"
#include "report/text_table.h"

namespace qsim::cli {
namespace {

RunResult run_on(Engine& engine, const Program& program, const Tensor& input, OfmapSink& sink,
                 const RunCommandOptions& options) {
  return engine.run(program, input,
                    {.move_data = !options.no_data,
                     .seed = options.seed,
                     .take_ofmap = [&sink](std::size_t layer, std::span<const std::byte> dram) {
                       sink.take(layer, dram);
                     }});
}

RunResult set_up_and_run(const Program& program, const Tensor& input, OfmapSink& sink,
                         Context& context, const RunCommandOptions& options) {
  EngineSettings settings = engine_settings(context, options);
  std::unique_ptr<formats::FileReplacement> trace;
  std::optional<TraceGuard> guard;
  if (settings.trace) {
    trace = context.begin_file(options.trace, formats::FileReplacement::Writer::kAnother);
    guard.emplace(*trace);
    settings.trace->path = trace->temporary();
  }
  std::unique_ptr<Engine> engine = make_engine(options.engine, settings);
  if (options.no_data && !engine->has_time()) {
    throw Error(ExitCode::kUsage, "--no-data does not work with --engine " + options.engine +
                                      ", which computes data and no times");
  }
  prepare_engine(options.engine, program.arch, settings);
  context.progress("simulating " + report::with_thousands(program.command_count()) +
                   " commands with " + options.engine);
  RunResult result = run_on(*engine, program, input, sink, options);
  engine.reset();  // ends the trace
  if (trace) {
    require_whole_fst(trace->temporary(), trace->target());
    trace->sync_written();
    context.keep_file(*trace);
  }
  return result;
}

}  // namespace

EngineSettings engine_settings(Context& context, const RunCommandOptions& options) {
  EngineSettings settings;
  settings.trace = rtl_trace_option(options);
  settings.on_build = [&context](const std::string& line) {
    context.note(line);
    context.progress("building an RTL model");
  };
  return settings;
}

RunResult simulate(const Program& program, const Tensor& input, OfmapSink& sink,
                   report::PhaseSeconds& phases, Context& context,
                   const RunCommandOptions& options) {
  const double before = sink.seconds();
  RunResult result = timed(phases.simulate,
                           [&] { return set_up_and_run(program, input, sink, context, options); });
  const double compare = sink.seconds() - before;
  phases.simulate -= compare;
  phases.compare += compare;
  return result;
}

}  // namespace qsim::cli
