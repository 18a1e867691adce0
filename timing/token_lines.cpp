#include "timing/token_lines.h"

#include <algorithm>
#include <string>

#include "core/error.h"

namespace qsim {
namespace {

constexpr std::uint64_t kFirstCapacity = std::bit_ceil(std::uint64_t{kSemaphoreMax});

// Calls visit(semaphore) for each one of `mask`.
template <typename Visit>
void for_each_semaphore(std::uint16_t mask, Visit visit) {
  for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
    visit(static_cast<std::size_t>(std::countr_zero(rest)));
  }
}

void check_one_unit(std::uint8_t& known, std::uint8_t nobody, Unit unit, std::size_t semaphore,
                    const char* does) {
  const auto number = static_cast<std::uint8_t>(unit);
  if (known == nobody) known = number;
  QSIM_CHECK(known == number, "semaphore " + std::to_string(semaphore) + " has two units that " +
                                  does + ": " + std::string(kUnitNames[known]) + " and " +
                                  std::string(kUnitNames[number]));
}

void check_overflow(bool overflows, std::size_t semaphore, std::uint64_t cycle) {
  QSIM_CHECK(!overflows, "semaphore " + std::to_string(semaphore) + " overflows at cycle " +
                             std::to_string(cycle) + ": more than " +
                             std::to_string(kSemaphoreMax) + " tokens");
}

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
    for (std::uint64_t i = 0; i < initial_[s]; ++i) arrival_of(s, i) = 0;
  }
}

std::uint16_t TokenLines::missing(std::uint16_t mask) const {
  unsigned missing = 0;
  for_each_semaphore(mask, [&](std::size_t s) {
    if (left(s) == 0) missing |= 1u << s;
  });
  return static_cast<std::uint16_t>(missing);
}

std::uint64_t TokenLines::arrival(std::uint16_t mask) const {
  std::uint64_t latest = 0;
  for_each_semaphore(
      mask, [&](std::size_t s) { latest = std::max(latest, arrival_of(s, lines_[s].taken)); });
  return latest;
}

// Token k + 15 comes while token k is there when the wait for token k comes later. Whichever of the
// two is added last sees that.
void TokenLines::take(Unit unit, std::uint16_t mask, std::uint64_t cycle) {
  for_each_semaphore(mask, [&](std::size_t s) {
    Line& line = lines_[s];
    check_one_unit(line.waiting_unit, kNobody, unit, s, "wait for it");
    const std::uint64_t token = line.taken++;
    line.takes[token % line.takes.size()] = cycle;
    if (token + kMostTokens < line.signalled) {
      const std::uint64_t arrival = arrival_of(s, token + kMostTokens);
      check_overflow(cycle > arrival, s, arrival);
    }
  });
}

void TokenLines::signal(Unit unit, std::uint16_t mask, std::uint64_t cycle) {
  for_each_semaphore(mask, [&](std::size_t s) {
    Line& line = lines_[s];
    check_one_unit(line.signalling_unit, kNobody, unit, s, "signal it");
    if (left(s) == capacity_) grow();
    const std::uint64_t token = line.signalled++;
    arrival_of(s, token) = cycle;
    if (token >= kMostTokens && token - kMostTokens < line.taken) {
      check_overflow(line.takes[(token - kMostTokens) % line.takes.size()] > cycle, s, cycle);
    }
  });
}

void TokenLines::check_end() const {
  for (std::size_t s = 0; s < kSemaphores; ++s) {
    if (left(s) > kMostTokens)
      check_overflow(true, s, arrival_of(s, lines_[s].taken + kMostTokens));
  }
}

void TokenLines::grow() {
  TokenLines larger(*this);
  larger.capacity_ = 2 * capacity_;
  larger.arrivals_.resize(kSemaphores * larger.capacity_);
  for (std::size_t s = 0; s < kSemaphores; ++s) {
    for (std::uint64_t i = lines_[s].taken; i < lines_[s].signalled; ++i) {
      larger.arrival_of(s, i) = arrival_of(s, i);
    }
  }
  *this = std::move(larger);
}

}  // namespace qsim
