// Which unit's command comes next: four in-order streams and their semaphores, without time.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/machine/program.h"

namespace qsim::sim::interpreter {

// Called once for every command, in an order that the tokens allow.
using ApplyCommand = std::function<void(Unit unit, std::size_t index)>;

// A command starts (takes its tokens), has its effect, and is done (gives its signals); each unit
// starts, applies and finishes its commands in program order. Throws InternalError when a semaphore
// exceeds 15, for a deadlock (who waits for what, and who should signal it), and when a semaphore
// does not end at its initial value.
class UnitOrder {
 public:
  explicit UnitOrder(const Program& program);

  // Start, effect and done at once; the units take turns.
  void run_in_turns(const ApplyCommand& apply);
  // The three steps of each command at random times; units are at times much slower than others.
  void run_at_random(const ApplyCommand& apply, Random& random);

 private:
  // Commands of a unit that have started, applied their effect, and are done.
  struct Progress {
    std::size_t started = 0;
    std::size_t applied = 0;
    std::size_t done = 0;
  };
  enum class Step : std::uint8_t { kStart, kApply, kDone };

  // A step that may come next; drawn with a probability in proportion to its pace.
  struct Choice {
    Unit unit;
    Step step;
    std::int64_t pace;
  };
  static const Choice& draw(const std::vector<Choice>& choices, Random& random);

  bool can_start(Unit unit) const;
  bool possible(Unit unit, Step step) const;
  void take(Unit unit, Step step, const ApplyCommand& apply);
  void start(Unit unit);
  void finish(Unit unit);
  Progress& progress(Unit unit) { return progress_[static_cast<std::size_t>(unit)]; }
  const Progress& progress(Unit unit) const { return progress_[static_cast<std::size_t>(unit)]; }
  void check_end() const;

  const Program& program_;
  std::array<Progress, kUnits> progress_{};
  std::array<int, kSemaphores> value_{};
};

}  // namespace qsim::sim::interpreter
