// What the tokens guarantee: for each command, which commands are known done when it starts. Time
// plays no part.
//
// The k-th wait on a semaphore takes the token of signal k - initial, so the command that gave it
// is done, with everything before it in its unit (commands are done in order), and with everything
// that was known when it started. A unit starts its commands in order, so what one knows its
// successors know too; that a command of its own unit is done it knows only by way of tokens.
#pragma once

#include <array>
#include <vector>

#include "compiler/verifier/violations.h"

namespace qsim::compiler::verifier {

struct CommandRef {
  Unit unit;
  std::size_t index;
};

class TokenOrder {
 public:
  // Reports semaphores with several producing or consuming units, unequal numbers of waits and
  // signals, a value that could exceed 15, and a deadlock.
  TokenOrder(const Program& program, Violations& violations);

  // Calls visit(CommandRef) for all commands, in an order that the tokens allow; for those before a
  // deadlock.
  template <typename Visit>
  void for_each_in_order(Visit visit) const {
    std::array<std::size_t, kUnits> next{};
    for (const Unit unit : sequence_)
      visit(CommandRef{unit, next[static_cast<std::size_t>(unit)]++});
  }

  // Whether command `earlier` is certainly done when `later` starts.
  bool known_done(CommandRef earlier, CommandRef later) const {
    return known_done_count(earlier.unit, later) > earlier.index;
  }
  // So many commands of `unit`, from the first on, are certainly done when `later` starts.
  std::uint32_t known_done_count(Unit unit, CommandRef later) const {
    return known(later)[static_cast<std::size_t>(unit)];
  }

 private:
  // By unit: so many commands, from the first on, are done.
  using DoneCounts = std::array<std::uint32_t, kUnits>;

  // Who uses a semaphore: by unit how many of its commands, and which ones of the producer.
  struct Use {
    std::array<std::size_t, kUnits> waits{};
    std::array<std::size_t, kUnits> signals{};
    std::vector<std::uint32_t> signallers;  // ascending
    Unit producer = Unit::kLoad;
    Unit consumer = Unit::kLoad;
  };

  void count_uses();
  void check_use(std::size_t semaphore);
  void collect_signallers();
  void walk();
  bool try_step(Unit unit);
  void report_deadlock();
  void check_overflow(std::size_t semaphore);
  std::string semaphore_text(std::size_t semaphore) const;
  const DoneCounts& known(CommandRef command) const {
    return known_[static_cast<std::size_t>(command.unit)][command.index];
  }

  const Program& program_;
  Violations& violations_;
  std::array<Use, kSemaphores> uses_;                  // empty after construction
  std::array<std::vector<DoneCounts>, kUnits> known_;  // grows as commands are reached
  std::array<std::size_t, kSemaphores> waited_{};
  std::vector<Unit> sequence_;  // whose next command comes
};

}  // namespace qsim::compiler::verifier
