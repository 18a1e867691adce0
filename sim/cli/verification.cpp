#include "sim/cli/verification.h"

#include "compiler/verifier/verify.h"
#include "core/cycle_accounting.h"
#include "sim/cli/engines.h"

namespace qsim {
namespace {

constexpr std::size_t kShownViolations = 5;

WitnessTally tally_named(const std::string& name) {
  WitnessTally tally;
  tally.name = name;
  return tally;
}

}  // namespace

void check_rules(const Program& program) {
  const std::vector<std::string> violations = verify(program, program.arch);
  if (violations.empty()) return;
  std::string message = "the program of '" + program.name + "' breaks " +
                        std::to_string(violations.size()) + " rules:";
  for (std::size_t i = 0; i < violations.size() && i < kShownViolations; ++i) {
    message += "\n  " + violations[i];
  }
  throw InternalError(message);
}

Verification::Verification(const std::vector<std::string>& engines, std::uint64_t seed)
    : seed_(seed) {
  for (const std::string& name : engines) {
    const bool has_orders = name == "interpreter";
    engines_.push_back(make_engine(name));
    witnesses_.push_back(tally_named(has_orders ? name + ", in order" : name));
    if (!has_orders) continue;
    engines_.push_back(make_engine(name, true));
    witnesses_.push_back(tally_named(name + ", random order"));
  }
}

void Verification::add(WitnessTally& tally, const std::string& what, const Comparison& comparison) {
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
  tally.first = (what.empty() ? "" : what + ": ") + divergence_text(*comparison.first);
}

void Verification::check(const std::string& what, const Program& program, const Tensor& input,
                         const std::vector<Tensor>& golden, const std::vector<Tensor>& recorded) {
  for (std::size_t i = 0; i < engines_.size(); ++i) {
    const RunResult result = engines_[i]->run(program, input, {.move_data = true, .seed = seed_});
    if (!result.times[0].empty()) account(program, result.times);
    add(witnesses_[i], what, compare_ofmaps(program, golden, result));
    if (recorded.empty()) continue;
    const std::string trace = (what.empty() ? "" : what + ", ") + "against the trace";
    add(witnesses_[i], trace, compare_ofmaps(program, recorded, result));
  }
}

void Verification::check_golden(const Graph& graph, const std::vector<Tensor>& golden,
                                const std::vector<Tensor>& recorded) {
  witnesses_.push_back(tally_named("golden against the trace"));
  add(witnesses_.back(), "", compare_graph_layers(graph, recorded, golden));
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

std::string Verification::first_divergence() const {
  for (const WitnessTally& tally : witnesses_) {
    if (!tally.first.empty()) return tally.name + ": " + tally.first;
  }
  return "";
}

}  // namespace qsim
