#include "sim/systemc/command_unit.h"

#include <algorithm>
#include <string>

namespace qsim {
namespace {

std::uint64_t cycle_units() {
  static const std::uint64_t kUnitsPerCycle = sc_core::sc_time(1, sc_core::SC_NS).value();
  return kUnitsPerCycle;
}

}  // namespace

sc_core::sc_time cycles(std::uint64_t count) {
  return sc_core::sc_time::from_value(count * cycle_units());
}

std::uint64_t RunState::cycle() const {
  return sc_core::sc_time_stamp().value() / cycle_units() - begin;
}

CommandUnit::CommandUnit(const sc_core::sc_module_name& name, Unit unit, RunState& run,
                         SemaphoreBank& semaphores)
    : sc_module(name), unit_(unit), run_(run), semaphores_(semaphores) {
  SC_HAS_PROCESS(CommandUnit);
  // Methods, not threads: a timed method costs about half of a thread's wait.
  SC_METHOD(issue);
  sensitive << begin_;
  dont_initialize();
  SC_METHOD(retire);
  sensitive << done_;
  dont_initialize();
}

void CommandUnit::begin_run() {
  next_ = 0;
  oldest_ = 0;
  times_.clear();
  times_.reserve(stream().size());  // takes memory as commands start
  configure(run_.program->arch);
  // After a run that ended in a deadlock `issue` still listens to ready() instead of begin_.
  begin_.notify(sc_core::SC_ZERO_TIME);
  semaphores_.ready(unit_).notify(sc_core::SC_ZERO_TIME);
}

std::uint64_t CommandUnit::unit_ready(std::size_t, const CommandTime& before) const {
  return before.free;
}

void CommandUnit::act_at_start(const Command&) {}
void CommandUnit::act_at_done(std::size_t) {}

template <typename Step>
void CommandUnit::guarded(Step step) {
  if (run_.failure) return;
  try {
    step();
  } catch (...) {
    run_.failure = std::current_exception();
  }
}

void CommandUnit::issue() {
  guarded([this] { start_next(); });
}

void CommandUnit::start_next() {
  if (!has_work()) return;
  const std::uint64_t now = run_.cycle();
  // 1. Wait for the tokens.
  if (!semaphores_.try_take(unit_, stream().wait_mask(next_), now)) {
    next_trigger(semaphores_.ready(unit_));
    return;
  }
  // 2. Record when it starts, frees the unit and is done.
  const Command command = stream().command(next_);
  const CommandTime time = schedule(command, now);
  const std::uint64_t last_done = next_ > 0 ? times_[next_ - 1].done : 0;
  QSIM_CHECK(time.done >= std::max(last_done, time.free),
             std::string(kUnitNames[static_cast<std::size_t>(unit_)]) + " command " +
                 std::to_string(next_) + " would be done before its predecessor");
  times_.push_back(time);
  ++next_;
  // 3. Do the work.
  if (run_.moves_data()) act_at_start(command);
  // 4. Start the next one when this one has left the unit's first stage, or later.
  if (has_work()) next_trigger(cycles(unit_ready(next_, time) - now));
  // 5. Signal its tokens when it is done (retire).
  done_.notify(cycles(time.done - now));
}

void CommandUnit::retire() {
  guarded([this] {
    const std::uint64_t now = run_.cycle();
    for (; oldest_ < next_ && times_[oldest_].done <= now; ++oldest_) {
      if (run_.moves_data()) act_at_done(oldest_);
      semaphores_.raise(stream().signal_mask(oldest_), now);
    }
    if (oldest_ < next_) done_.notify(cycles(times_[oldest_].done - now));
  });
}

}  // namespace qsim
