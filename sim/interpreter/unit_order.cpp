#include "sim/interpreter/unit_order.h"

#include "core/machine/program_text.h"
#include "core/machine/who_waits.h"

namespace qsim::sim::interpreter {
namespace {

constexpr std::array<Unit, kUnits> kAllUnits = {Unit::kLoad, Unit::kExecute, Unit::kPost,
                                                Unit::kStore};

bool has(std::uint16_t mask, std::size_t semaphore) { return ((mask >> semaphore) & 1) != 0; }

}  // namespace

UnitOrder::UnitOrder(const Program& program) : program_(program) {
  for (std::size_t s = 0; s < kSemaphores; ++s) value_[s] = program.semaphores[s].initial;
}

void UnitOrder::run_in_turns(const ApplyCommand& apply) {
  bool moved = true;
  while (moved) {
    moved = false;
    for (const Unit unit : kAllUnits) {
      if (!can_start(unit)) continue;
      for (const Step step : {Step::kStart, Step::kApply, Step::kDone}) take(unit, step, apply);
      moved = true;
    }
  }
  check_end();
}

void UnitOrder::run_at_random(const ApplyCommand& apply, Random& random) {
  constexpr std::array<std::int64_t, 4> kPaces = {1, 20, 400, 400};
  constexpr int kRoundsPerPace = 24;
  std::array<std::array<std::int64_t, 3>, kUnits> paces{};
  std::vector<Choice> choices;
  for (int round = 0;; ++round) {
    if (round % kRoundsPerPace == 0) {
      for (auto& unit : paces) {
        for (std::int64_t& pace : unit) pace = kPaces[random.next() % kPaces.size()];
      }
    }
    choices.clear();
    for (const Unit unit : kAllUnits) {
      for (const Step step : {Step::kStart, Step::kApply, Step::kDone}) {
        if (!possible(unit, step)) continue;
        const auto u = static_cast<std::size_t>(unit);
        choices.push_back({unit, step, paces[u][static_cast<std::size_t>(step)]});
      }
    }
    if (choices.empty()) break;
    const Choice& choice = draw(choices, random);
    take(choice.unit, choice.step, apply);
  }
  check_end();
}

const UnitOrder::Choice& UnitOrder::draw(const std::vector<Choice>& choices, Random& random) {
  std::int64_t total = 0;
  for (const Choice& choice : choices) total += choice.pace;
  std::int64_t ticket = random.uniform(0, total - 1);
  std::size_t drawn = 0;
  for (; ticket >= choices[drawn].pace; ++drawn) ticket -= choices[drawn].pace;
  return choices[drawn];
}

bool UnitOrder::can_start(Unit unit) const {
  const std::size_t next = progress(unit).started;
  if (next == program_.stream(unit).size()) return false;
  for (std::size_t s = 0; s < kSemaphores; ++s) {
    if (has(program_.stream(unit).wait_mask(next), s) && value_[s] == 0) return false;
  }
  return true;
}

bool UnitOrder::possible(Unit unit, Step step) const {
  const Progress& p = progress(unit);
  switch (step) {
    case Step::kStart:
      return can_start(unit);
    case Step::kApply:
      return p.applied < p.started;
    case Step::kDone:
      return p.done < p.applied;
  }
  return false;
}

void UnitOrder::take(Unit unit, Step step, const ApplyCommand& apply) {
  switch (step) {
    case Step::kStart:
      return start(unit);
    case Step::kApply:
      return apply(unit, progress(unit).applied++);
    case Step::kDone:
      return finish(unit);
  }
}

void UnitOrder::start(Unit unit) {
  const std::uint16_t waits = program_.stream(unit).wait_mask(progress(unit).started++);
  for (std::size_t s = 0; s < kSemaphores; ++s) value_[s] -= has(waits, s) ? 1 : 0;
}

void UnitOrder::finish(Unit unit) {
  const std::size_t index = progress(unit).done++;
  for (std::size_t s = 0; s < kSemaphores; ++s) {
    if (!has(program_.stream(unit).signal_mask(index), s)) continue;
    if (++value_[s] > kSemaphoreMax) {
      throw InternalError(command_label(program_, unit, index) + " raises " +
                          semaphore_name(program_, s) + " above " + std::to_string(kSemaphoreMax));
    }
  }
}

void UnitOrder::check_end() const {
  std::array<UnitProgress, kUnits> progress;
  for (std::size_t u = 0; u < kUnits; ++u) progress[u] = {progress_[u].started, progress_[u].done};
  const std::string waiting = who_waits(program_, progress);
  QSIM_CHECK(waiting.empty(), "deadlock in program '" + program_.name + "':" + waiting);
  for (std::size_t s = 0; s < kSemaphores; ++s) {
    if (value_[s] == program_.semaphores[s].initial) continue;
    throw InternalError("program '" + program_.name + "' ends with " + semaphore_name(program_, s) +
                        " at " + std::to_string(value_[s]) + "; it began at " +
                        std::to_string(program_.semaphores[s].initial));
  }
}

}  // namespace qsim::sim::interpreter
