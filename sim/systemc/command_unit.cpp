#include "sim/systemc/command_unit.h"

#include <algorithm>
#include <string>

namespace qsim::sim {
namespace {

// One cycle in units of SystemC's own resolution, 1 ps, which nobody changes; a constant, since
// each event divides by it.
constexpr std::uint64_t kUnitsPerCycle = 1000;

}  // namespace

sc_core::sc_time cycles(std::uint64_t count) {
  return sc_core::sc_time::from_value(count * kUnitsPerCycle);
}

std::uint64_t RunState::cycle() const {
  return sc_core::sc_time_stamp().value() / kUnitsPerCycle - begin;
}

CommandUnit::CommandUnit(const sc_core::sc_module_name& name, Unit unit, RunState& run,
                         SemaphoreBank& semaphores)
    : sc_module(name), unit_(unit), run_(run), semaphores_(semaphores) {
  QSIM_CHECK(sc_core::sc_time(1, sc_core::SC_NS).value() == kUnitsPerCycle,
             "SystemC's time resolution is not 1 ps");
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
  in_flight_.clear();
  ready_cycle_ = 0;
  waited_ = false;
  times_.clear();
  times_.reserve(stream().size());  // takes memory as commands start
  configure(run_.program->arch);
  guarded([this] { decode_next(); });
  // After a run that ended in a deadlock `issue` still listens to ready() instead of begin_.
  begin_.notify(sc_core::SC_ZERO_TIME);
  semaphores_.ready(unit_).notify(sc_core::SC_ZERO_TIME);
}

std::uint64_t CommandUnit::unit_ready(const Command&, const CommandTime& before) const {
  return before.free;
}

void CommandUnit::act_at_start(const Command&) {}
void CommandUnit::act_at_done(const Command&) {}

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

void CommandUnit::decode_next() {
  if (has_work()) next_command_ = stream().command(next_);
}

void CommandUnit::start_next() {
  if (!has_work()) return;
  const std::uint64_t now = run_.cycle();
  // 1. Wait for the unit, where its tokens were there first, and for the tokens.
  if (now < ready_cycle_) {
    waited_ = false;
    next_trigger(cycles(ready_cycle_ - now));
    return;
  }
  if (!semaphores_.try_take(unit_, next_command_.wait_mask, now)) {
    waited_ = true;
    next_trigger(semaphores_.ready(unit_));
    return;
  }
  // 2. Record when it starts, frees the unit and is done.
  const CommandTime time = schedule(next_command_, now);
  const std::uint64_t last_done = next_ > 0 ? times_[next_ - 1].done : 0;
  QSIM_CHECK(time.done >= std::max(last_done, time.free),
             std::string(kUnitNames[static_cast<std::size_t>(unit_)]) + " command " +
                 std::to_string(next_) + " would be done before its predecessor");
  times_.push_back(time);
  // 3. Do the work.
  if (run_.moves_data()) {
    act_at_start(next_command_);
    in_flight_.push_back(next_command_);
  }
  // 4. Start the next one when this one has left the unit's first stage, or later.
  ++next_;
  decode_next();
  if (has_work()) await_next(time, now);
  // 5. Signal its tokens when it is done (retire).
  done_.notify(cycles(time.done - now));
}

// A command waits for its tokens or for the unit, whichever comes last. One event is enough where
// it is known which: a unit that waited for tokens mostly does so again, and then the time at which
// it is free needs no event.
void CommandUnit::await_next(const CommandTime& before, std::uint64_t now) {
  ready_cycle_ = unit_ready(next_command_, before);
  if (waited_ && semaphores_.awaits(unit_, next_command_.wait_mask)) {
    next_trigger(semaphores_.ready(unit_));
  } else {
    waited_ = false;
    next_trigger(cycles(ready_cycle_ - now));
  }
}

void CommandUnit::retire() {
  guarded([this] {
    const std::uint64_t now = run_.cycle();
    for (; oldest_ < next_ && times_[oldest_].done <= now; ++oldest_) {
      if (run_.moves_data()) {
        act_at_done(in_flight_.front());
        in_flight_.pop_front();
      }
      semaphores_.raise(stream().signal_mask(oldest_), now);
    }
    if (oldest_ < next_) done_.notify(cycles(times_[oldest_].done - now));
  });
}

}  // namespace qsim::sim
