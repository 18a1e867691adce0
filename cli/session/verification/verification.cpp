#include "cli/session/verification/verification.h"

#include <algorithm>

#include "cli/session/engines/engines.h"
#include "cli/session/verification/time_comparison.h"
#include "report/analysis/cycle_accounting.h"

namespace qsim::cli {
namespace {

WitnessTally tally_named(const std::string& name) {
  WitnessTally tally;
  tally.name = name;
  return tally;
}

// Engines in the order in which their times are what is expected of the others: a simulation, a
// calculation, the hardware.
int rank_of(const EngineRow& engine) { return engine.runs_rtl ? 2 : engine.has_data ? 0 : 1; }

}  // namespace

Verification::Verification(const std::vector<std::string>& engines, std::uint64_t seed,
                           const EngineSettings& settings)
    : seed_(seed) {
  for (const std::string& name : engines) {
    const EngineRow& row = engine_row(name);
    join(row, settings, row.has_orders ? name + ", in order" : name);
    if (!row.has_orders) continue;
    EngineSettings any_order = settings;
    any_order.random_order = true;
    join(row, any_order, name + ", random order");
  }
}

void Verification::join(const EngineRow& row, const EngineSettings& settings,
                        const std::string& witness_name) {
  std::optional<std::size_t> witness;
  if (row.has_data) {
    witness = witnesses_.size();
    witnesses_.push_back(tally_named(witness_name));
  }
  participants_.push_back({&row, make_engine(row.name, settings), witness});
}

void Verification::add(WitnessTally& tally, const std::string& what,
                       const report::Comparison& comparison) {
  ++tally.programs;
  tally.values += comparison.values();
  tally.mismatches += comparison.mismatches();
  if (tally.layers.size() < comparison.layers.size()) {
    tally.layers.resize(comparison.layers.size());
  }
  for (std::size_t i = 0; i < comparison.layers.size(); ++i) {
    tally.layers[i].layer = comparison.layers[i].layer;
    tally.layers[i].values += comparison.layers[i].values;
    tally.layers[i].mismatches += comparison.layers[i].mismatches;
  }
  if (!comparison.first || !tally.first.empty()) return;
  tally.first = (what.empty() ? "" : what + ": ") + report::divergence_text(*comparison.first);
}

void Verification::check(const std::string& what, const Program& program, const Tensor& input,
                         const std::vector<Tensor>& golden, const std::vector<Tensor>& recorded) {
  std::vector<CommandTimes> times;
  for (const Participant& participant : participants_) {
    RunResult result = participant.engine->run(
        program, input, {.move_data = participant.row->has_data, .seed = seed_});
    if (participant.row->has_time) report::account(program, result.times);
    times.push_back(std::move(result.times));
    if (!participant.witness) continue;
    add(witnesses_[*participant.witness], what, report::compare_ofmaps(program, golden, result));
    if (recorded.empty()) continue;
    const std::string trace = (what.empty() ? "" : what + ", ") + "against the trace";
    add(witnesses_[*participant.witness], trace, report::compare_ofmaps(program, recorded, result));
  }
  add_times(what, program, times);
}

void Verification::add_times(const std::string& what, const Program& program,
                             const std::vector<CommandTimes>& times) {
  std::vector<std::size_t> timed;
  for (std::size_t i = 0; i < participants_.size(); ++i) {
    if (participants_[i].row->has_time) timed.push_back(i);
  }
  // The prediction first, whatever the order on the command line.
  std::stable_sort(timed.begin(), timed.end(), [this](std::size_t a, std::size_t b) {
    return rank_of(*participants_[a].row) < rank_of(*participants_[b].row);
  });
  times_.resize(timed.empty() ? 0 : timed.size() - 1);
  for (std::size_t t = 0; t < times_.size(); ++t) {
    TimeTally& tally = times_[t];
    const EngineRow& expected = *participants_[timed[0]].row;
    const EngineRow& found = *participants_[timed[t + 1]].row;
    tally.name = std::string(found.name) + " against " + std::string(expected.name);
    const TimeComparison comparison = compare_times(times[timed[0]], times[timed[t + 1]]);
    tally.commands += comparison.commands;
    tally.mismatches += comparison.mismatches;
    if (!comparison.first || !tally.first.empty()) continue;
    tally.first =
        (what.empty() ? "" : what + ": ") + time_divergence_text(program, *comparison.first);
  }
}

void Verification::check_golden(const Graph& graph, const std::vector<Tensor>& golden,
                                const std::vector<Tensor>& recorded) {
  add(tally_of("golden against the trace"), "",
      report::compare_graph_layers(graph, recorded, golden));
}

WitnessTally& Verification::tally_of(const std::string& name) {
  for (WitnessTally& tally : witnesses_) {
    if (tally.name == name) return tally;
  }
  witnesses_.push_back(tally_named(name));
  return witnesses_.back();
}

std::vector<Tensor> Verification::run_golden(const std::string& what, const Graph& graph,
                                             const Tensor& input,
                                             std::vector<std::unique_ptr<GoldenRunner>>& backends) {
  std::vector<Tensor> first = backends.front()->run(input);
  if (backends.size() == 1) return first;
  QSIM_CHECK(backends.size() == 2, "golden has two backends");
  const std::vector<Tensor> second = backends.back()->run(input);
  const bool cpu_first = backends.front()->backend() == GoldenBackend::kCpu;
  add(tally_of("golden cuda against cpu"), what,
      report::compare_graph_layers(graph, cpu_first ? first : second, cpu_first ? second : first));
  return first;
}

std::int64_t Verification::values() const {
  std::int64_t sum = 0;
  for (const WitnessTally& tally : witnesses_) sum += tally.values;
  return sum;
}

std::int64_t Verification::mismatches() const {
  std::int64_t sum = 0;
  for (const WitnessTally& tally : witnesses_) sum += tally.mismatches;
  return sum;
}

std::int64_t Verification::timed_commands() const {
  std::int64_t sum = 0;
  for (const TimeTally& tally : times_) sum += tally.commands;
  return sum;
}

std::int64_t Verification::time_mismatches() const {
  std::int64_t sum = 0;
  for (const TimeTally& tally : times_) sum += tally.mismatches;
  return sum;
}

std::string Verification::first_divergence() const {
  for (const WitnessTally& tally : witnesses_) {
    if (!tally.first.empty()) return tally.name + ": " + tally.first;
  }
  return "";
}

}  // namespace qsim::cli
