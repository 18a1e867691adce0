#include "sim/recurrence/token_lines.h"

#include <string>

#include "core/base/error.h"

namespace qsim::sim {
namespace {

constexpr std::uint64_t kFirstCapacity = std::bit_ceil(std::uint64_t{kSemaphoreMax});

std::string unit_name(std::size_t unit) { return std::string(kUnitNames[unit]); }

}  // namespace

TokenLines::TokenLines(const TokenCounts& initial)
    : initial_(initial), capacity_(kFirstCapacity), arrivals_(kSemaphores * kFirstCapacity) {
  for (const std::uint8_t count : initial) {
    QSIM_CHECK(count <= kSemaphoreMax, "a semaphore begins at " + std::to_string(count));
  }
  reset();
}

void TokenLines::reset() {
  for (std::size_t s = 0; s < kSemaphores; ++s) {
    lines_[s].signalled = initial_[s];
    lines_[s].taken = 0;
    lines_[s].waiting_unit = lines_[s].signalling_unit = kNobody;
    for (std::uint64_t i = 0; i < initial_[s]; ++i) arrivals_[place_of(s, i)] = 0;
  }
}

void TokenLines::check_end() const {
  for (std::size_t s = 0; s < kSemaphores; ++s) {
    if (left(s) <= kMostTokens) continue;
    check_overflow(true, s, arrivals_[place_of(s, lines_[s].taken + kMostTokens)]);
  }
}

void TokenLines::grow() {
  const TokenLines old = *this;
  capacity_ *= 2;
  arrivals_.resize(kSemaphores * capacity_);
  for (std::size_t s = 0; s < kSemaphores; ++s) {
    for (std::uint64_t i = lines_[s].taken; i < lines_[s].signalled; ++i) {
      arrivals_[place_of(s, i)] = old.arrivals_[old.place_of(s, i)];
    }
  }
}

void TokenLines::nobody_signals(Unit unit, std::size_t semaphore) {
  throw InternalError("a command of the " + unit_name(static_cast<std::size_t>(unit)) +
                      " unit waits for a token of semaphore " + std::to_string(semaphore) +
                      " that no command before it signals");
}

void TokenLines::begin_use(std::uint8_t& known, Unit unit, std::size_t semaphore,
                           const char* does) {
  QSIM_CHECK(known == kNobody, "semaphore " + std::to_string(semaphore) + " has two units that " +
                                   does + ": " + unit_name(known) + " and " +
                                   unit_name(static_cast<std::size_t>(unit)));
  known = static_cast<std::uint8_t>(unit);
}

void TokenLines::check_overflow(bool overflows, std::size_t semaphore, std::uint64_t cycle) {
  QSIM_CHECK(!overflows, "semaphore " + std::to_string(semaphore) + " overflows at cycle " +
                             std::to_string(cycle) + ": more than " +
                             std::to_string(kSemaphoreMax) + " tokens");
}

}  // namespace qsim::sim
