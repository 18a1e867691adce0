// The 16 token semaphores between the units, and the units that wait for them. Not a module: tokens
// take no time of their own; a signal of a command done at cycle e is usable at e.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <systemc>

#include "core/machine/program.h"

namespace qsim::sim {

class SemaphoreBank {
 public:
  // Values at cycle 0 of a run. `program` must outlive the run.
  void reset(const Program& program);

  // Lowers every semaphore of `mask` by one when all are above zero. Otherwise changes nothing and
  // notifies ready(unit) as soon as they are.
  bool try_take(Unit unit, std::uint16_t mask, std::uint64_t cycle);
  // Whether a semaphore of `mask` is at zero; then ready(unit) is notified as soon as none is.
  bool awaits(Unit unit, std::uint16_t mask);
  // Raises every semaphore of `mask` by one. A unit whose tokens are now complete wakes in the
  // next delta cycle, that is within the same cycle, whatever the order of raising and taking.
  void raise(std::uint16_t mask, std::uint64_t cycle);

  sc_core::sc_event& ready(Unit unit) { return ready_[static_cast<std::size_t>(unit)]; }

  // Semaphores of `mask` at zero.
  std::uint16_t missing(std::uint16_t mask) const;
  int value(std::size_t semaphore) const { return values_[semaphore]; }
  // Throws InternalError when a semaphore is not back at its initial value.
  void check_drained() const;

 private:
  // Overflow is judged on the value at the end of a cycle, after +1 and -1 have netted out: before
  // the first change of a later cycle, and at the end of the run. That costs no kernel event.
  void settle(std::size_t semaphore, std::uint64_t cycle);
  void check_overflow(std::size_t semaphore) const;

  const Program* program_ = nullptr;
  std::array<int, kSemaphores> values_{};
  std::array<std::uint64_t, kSemaphores> changed_cycle_{};
  std::array<std::uint16_t, kUnits> wanted_{};  // wait masks of sleeping units
  std::array<sc_core::sc_event, kUnits> ready_;
};

}  // namespace qsim::sim
