#include "cli/session/run/part_runner.h"

#include <utility>

#include "cli/session/engines/memory_need.h"
#include "cli/session/run/simulation.h"

namespace qsim::cli {

using report::RunReport;

PartRunner::PartRunner(Context& context, const RunCommandOptions& options, const ArchConfig& config,
                       GoldenSelection& golden)
    : options_(options),
      config_(config),
      need_(need_of(options)),
      settings_(engine_settings(context, options)),
      golden_(golden),
      engine_(make_engine(options.engine, settings_)) {
  if (options_.no_data && !engine_->has_time()) {
    throw Error(ExitCode::kUsage, "--no-data does not work with --engine " + options_.engine +
                                      ", which computes data and no times");
  }
  prepare_engine(options_.engine, config, settings_);
}

PartRunner::Result PartRunner::run(Part part, const std::optional<EnergyTable>& energy_table,
                                   RunReport& sum) {
  report::PhaseSeconds& phases = sum.phases;
  part.asked.known = searched_.known;
  require_memory_for(part.graph.name, part.graph, config_, need_, part.asked);
  compiler::Compilation compilation = timed(phases.compile, [&] {
    return compiler::Compilation(std::move(part.graph), config_, part.asked);
  });
  Result result;
  result.mappings = compilation.mappings();
  const std::vector<LayerBounds> bounds = compilation.bounds();
  std::vector<Tensor> expected =
      timed(phases.golden, [&] { return golden_tensors(compilation, part.input); });
  const Program program = timed(phases.compile, [&] {
    return options_.no_data ? compilation.commands() : std::move(compilation).program();
  });
  OfmapSink sink(program, expected, options_.wants_golden(), false);
  result.report.engine = options_.engine;
  const RunResult ran = simulate(program, part.input, sink, phases);
  report::add_layers(result.report, program, ran);
  if (!options_.report.empty()) {
    report::append(timeline_, report::timeline_of(program, ran.times),
                   static_cast<std::uint32_t>(sum.layers.size()));
  }
  report::add_mappings(result.report, result.mappings);
  report::add_bounds(result.report, bounds);
  if (energy_table) report::add_energy(result.report, program, *energy_table);
  add_comparison(sum, sink);
  result.last = sink.last();
  return result;
}

std::vector<Tensor> PartRunner::golden_tensors(const compiler::Compilation& compilation,
                                               const Tensor& input) {
  if (!options_.wants_golden()) return {};
  return golden_.run_once(compilation.graph(), input, compilation.ofmap_layers());
}

RunResult PartRunner::simulate(const Program& program, const Tensor& input, OfmapSink& sink,
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

void PartRunner::add_comparison(RunReport& sum, const OfmapSink& sink) const {
  const std::optional<report::Comparison> comparison = sink.comparison();
  if (!comparison) return;
  if (!sum.verify) sum.verify = report::VerifySummary{golden_.name(), {}};
  report::Comparison& all = sum.verify->comparison;
  all.layers.insert(all.layers.end(), comparison->layers.begin(), comparison->layers.end());
  if (!all.first) all.first = comparison->first;
  sum.verify->golden = golden_.name();
}

}  // namespace qsim::cli
