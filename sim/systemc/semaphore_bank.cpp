#include "sim/systemc/semaphore_bank.h"

#include <bit>

#include "core/base/error.h"

namespace qsim::sim {
namespace {

template <typename Visit>
void for_each_semaphore(std::uint16_t mask, Visit visit) {
  for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
    visit(static_cast<std::size_t>(std::countr_zero(rest)));
  }
}

}  // namespace

void SemaphoreBank::reset(const Program& program) {
  program_ = &program;
  for (std::size_t s = 0; s < kSemaphores; ++s) values_[s] = program.semaphores[s].initial;
  changed_cycle_.fill(0);
  wanted_.fill(0);
}

bool SemaphoreBank::try_take(Unit unit, std::uint16_t mask, std::uint64_t cycle) {
  if (awaits(unit, mask)) return false;
  for_each_semaphore(mask, [&](std::size_t s) {
    settle(s, cycle);
    --values_[s];
  });
  return true;
}

bool SemaphoreBank::awaits(Unit unit, std::uint16_t mask) {
  if (missing(mask) == 0) return false;
  wanted_[static_cast<std::size_t>(unit)] = mask;
  return true;
}

void SemaphoreBank::raise(std::uint16_t mask, std::uint64_t cycle) {
  for_each_semaphore(mask, [&](std::size_t s) {
    settle(s, cycle);
    ++values_[s];
  });
  for (std::size_t unit = 0; unit < kUnits; ++unit) {
    if ((wanted_[unit] & mask) == 0 || missing(wanted_[unit]) != 0) continue;
    wanted_[unit] = 0;
    ready_[unit].notify(sc_core::SC_ZERO_TIME);
  }
}

std::uint16_t SemaphoreBank::missing(std::uint16_t mask) const {
  unsigned missing = 0;
  for_each_semaphore(mask, [&](std::size_t s) {
    if (values_[s] == 0) missing |= 1u << s;
  });
  return static_cast<std::uint16_t>(missing);
}

void SemaphoreBank::check_drained() const {
  for (std::size_t s = 0; s < kSemaphores; ++s) {
    check_overflow(s);
    QSIM_CHECK(values_[s] == program_->semaphores[s].initial,
               "the program ends with " + std::to_string(values_[s]) + " tokens in " +
                   semaphore_name(*program_, s) + "; it began with " +
                   std::to_string(program_->semaphores[s].initial));
  }
}

void SemaphoreBank::settle(std::size_t semaphore, std::uint64_t cycle) {
  if (cycle == changed_cycle_[semaphore]) return;
  check_overflow(semaphore);
  changed_cycle_[semaphore] = cycle;
}

void SemaphoreBank::check_overflow(std::size_t semaphore) const {
  QSIM_CHECK(values_[semaphore] <= kSemaphoreMax,
             semaphore_name(*program_, semaphore) + " overflows at cycle " +
                 std::to_string(changed_cycle_[semaphore]) + ": " +
                 std::to_string(values_[semaphore]) + " tokens; at most " +
                 std::to_string(kSemaphoreMax));
}

}  // namespace qsim::sim
