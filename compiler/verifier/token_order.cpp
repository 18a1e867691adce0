#include "compiler/verifier/token_order.h"

#include <algorithm>
#include <bit>

#include "core/machine/program_text.h"

namespace qsim::compiler::verifier {
namespace {

std::size_t number(Unit unit) { return static_cast<std::size_t>(unit); }

// Calls visit(semaphore) for each one of `mask`.
template <typename Visit>
void for_each_semaphore(unsigned mask, Visit visit) {
  for (; mask != 0; mask &= mask - 1) visit(static_cast<std::size_t>(std::countr_zero(mask)));
}

// The units whose count is not 0.
std::vector<Unit> users(const std::array<std::size_t, kUnits>& counts) {
  std::vector<Unit> units;
  for (std::size_t u = 0; u < kUnits; ++u) {
    if (counts[u] > 0) units.push_back(static_cast<Unit>(u));
  }
  return units;
}

}  // namespace

TokenOrder::TokenOrder(const Program& program, Violations& violations)
    : program_(program), violations_(violations) {
  count_uses();
  for (std::size_t s = 0; s < kSemaphores; ++s) check_use(s);
  if (!violations_.empty()) return;
  collect_signallers();
  walk();
  if (sequence_.size() < program_.command_count()) {
    report_deadlock();
    return;
  }
  for (std::size_t s = 0; s < kSemaphores; ++s) check_overflow(s);
  uses_ = {};
}

std::string TokenOrder::semaphore_text(std::size_t semaphore) const {
  const std::string& name = program_.semaphores[semaphore].name;
  return "semaphore " + std::to_string(semaphore) + (name.empty() ? "" : " (" + name + ")");
}

void TokenOrder::count_uses() {
  for (std::size_t u = 0; u < kUnits; ++u) {
    const CommandStream stream = program_.streams[u];
    for (std::size_t i = 0; i < stream.size(); ++i) {
      for_each_semaphore(stream.wait_mask(i), [&](std::size_t s) { ++uses_[s].waits[u]; });
      for_each_semaphore(stream.signal_mask(i), [&](std::size_t s) { ++uses_[s].signals[u]; });
    }
  }
}

void TokenOrder::collect_signallers() {
  for (Use& use : uses_) use.signallers.reserve(use.signals[number(use.producer)]);
  for (std::size_t u = 0; u < kUnits; ++u) {
    const CommandStream stream = program_.streams[u];
    for (std::size_t i = 0; i < stream.size(); ++i) {
      for_each_semaphore(stream.signal_mask(i), [&](std::size_t s) {
        uses_[s].signallers.push_back(static_cast<std::uint32_t>(i));
      });
    }
  }
}

void TokenOrder::check_use(std::size_t semaphore) {
  Use& use = uses_[semaphore];
  const int initial = program_.semaphores[semaphore].initial;
  if (initial > kSemaphoreMax) {
    violations_.add(semaphore_text(semaphore) + " begins at " + std::to_string(initial) +
                    "; at most " + std::to_string(kSemaphoreMax) + " is allowed");
  }
  const std::vector<Unit> producers = users(use.signals);
  const std::vector<Unit> consumers = users(use.waits);
  if (producers.empty() && consumers.empty()) return;
  if (producers.size() > 1 || consumers.size() > 1) {
    violations_.add(semaphore_text(semaphore) + " has " + std::to_string(producers.size()) +
                    " producing and " + std::to_string(consumers.size()) +
                    " consuming units; one of each is allowed");
    return;
  }
  if (!producers.empty()) use.producer = producers[0];
  if (!consumers.empty()) use.consumer = consumers[0];
  const std::size_t signals = use.signals[number(use.producer)];
  const std::size_t waits = use.waits[number(use.consumer)];
  if (signals == waits) return;
  violations_.add(semaphore_text(semaphore) + " is signalled " + std::to_string(signals) +
                  " times and waited for " + std::to_string(waits) +
                  " times; it must end at its initial value");
}

void TokenOrder::walk() {
  sequence_.reserve(program_.command_count());
  for (std::size_t u = 0; u < kUnits; ++u) known_[u].reserve(program_.streams[u].size());
  bool moved = true;
  while (moved) {
    moved = false;
    for (std::size_t u = 0; u < kUnits; ++u) {
      while (known_[u].size() < program_.streams[u].size() && try_step(static_cast<Unit>(u))) {
        moved = true;
      }
    }
  }
}

bool TokenOrder::try_step(Unit unit) {
  const std::size_t index = known_[number(unit)].size();
  const std::uint16_t waits = program_.stream(unit).wait_mask(index);
  DoneCounts known = index == 0 ? DoneCounts{} : known_[number(unit)][index - 1];
  for (unsigned rest = waits; rest != 0; rest &= rest - 1) {
    const auto s = static_cast<std::size_t>(std::countr_zero(rest));
    if (waited_[s] < program_.semaphores[s].initial) continue;
    const std::size_t producer = number(uses_[s].producer);
    const std::size_t signal = waited_[s] - program_.semaphores[s].initial;
    if (signal >= uses_[s].signallers.size()) return false;
    const std::size_t signaller = uses_[s].signallers[signal];
    if (signaller >= known_[producer].size()) return false;  // not reached yet
    const DoneCounts& passed_on = known_[producer][signaller];
    for (std::size_t u = 0; u < kUnits; ++u) known[u] = std::max(known[u], passed_on[u]);
    known[producer] = std::max(known[producer], static_cast<std::uint32_t>(signaller + 1));
  }
  for_each_semaphore(waits, [&](std::size_t s) { ++waited_[s]; });
  known_[number(unit)].push_back(known);
  sequence_.push_back(unit);
  return true;
}

void TokenOrder::report_deadlock() {
  for (std::size_t u = 0; u < kUnits; ++u) {
    const std::size_t next = known_[u].size();
    if (next == program_.streams[u].size()) continue;
    std::string text = "deadlock: waits for";
    for_each_semaphore(program_.streams[u].wait_mask(next),
                       [&](std::size_t s) { text += " " + semaphore_text(s); });
    violations_.add(static_cast<Unit>(u), next, text);
  }
}

// After signal j the value is initial + j - (waits begun). The waits certainly begun are those of
// consumer commands known done, or, where producer and consumer are one unit, of all up to the
// signalling command; nothing else holds the signals back, so the bound is reached in some order.
void TokenOrder::check_overflow(std::size_t semaphore) {
  const Use& use = uses_[semaphore];
  const std::vector<std::uint32_t>& signals = use.signallers;
  const CommandStream consumer = program_.stream(use.consumer);
  std::size_t next = 0;   // command of the consumer
  std::size_t begun = 0;  // waits of those before it
  for (std::size_t j = 0; j < signals.size(); ++j) {
    const std::size_t done = use.consumer == use.producer
                                 ? signals[j] + 1
                                 : known_[number(use.producer)][signals[j]][number(use.consumer)];
    for (; next < done; ++next) begun += (consumer.wait_mask(next) >> semaphore) & 1u;
    const std::size_t value = program_.semaphores[semaphore].initial + j + 1 - begun;
    if (value <= static_cast<std::size_t>(kSemaphoreMax)) continue;
    violations_.add(use.producer, signals[j],
                    "may raise " + semaphore_text(semaphore) + " to " + std::to_string(value) +
                        "; at most " + std::to_string(kSemaphoreMax) + " is allowed");
    return;
  }
}

}  // namespace qsim::compiler::verifier
