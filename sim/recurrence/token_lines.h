// When the tokens of each semaphore arrive, and which command takes which: the k-th wait takes the
// token of the k-th signal, the initial ones first. It needs no clock: signals and waits may be
// added in any order in which a token is signalled before it is taken.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "core/machine/isa/commands.h"

namespace qsim::sim {

// Tokens of each semaphore at cycle 0, at most kSemaphoreMax each.
using TokenCounts = std::array<std::uint8_t, kSemaphores>;

class TokenLines {
 public:
  explicit TokenLines(const TokenCounts& initial);

  // To the initial tokens, at cycle 0.
  void reset();

  // Whether somebody has signalled the next token of each semaphore of `mask`.
  bool has_next(std::uint16_t mask) const;
  // When the next token of each semaphore of `mask` is there, the latest of them; 0 for no
  // semaphore. Throws InternalError when nobody has signalled one; `unit` waits for it.
  std::uint64_t arrival(Unit unit, std::uint16_t mask) const;

  // `unit` takes the next token of each semaphore of `mask` at `cycle`, or signals one that arrives
  // at `cycle`. The cycles of a semaphore's waits never go back, nor do those of its signals; a
  // token that is taken must be there. Throws InternalError when a semaphore has a second waiting
  // or signalling unit, and when it holds more than kSemaphoreMax tokens at the end of a cycle.
  void take(Unit unit, std::uint16_t mask, std::uint64_t cycle);
  void signal(Unit unit, std::uint16_t mask, std::uint64_t cycle);

  // Throws InternalError when more than kSemaphoreMax tokens of a semaphore are never taken.
  void check_end() const;

  // Tokens that are signalled and not taken.
  std::size_t left(std::size_t semaphore) const {
    return lines_[semaphore].signalled - lines_[semaphore].taken;
  }

 private:
  static constexpr std::uint64_t kMostTokens = kSemaphoreMax;
  static constexpr std::uint8_t kNobody = kUnits;

  struct Line {
    std::uint64_t signalled = 0;  // the initial tokens included
    std::uint64_t taken = 0;
    std::uint8_t waiting_unit = kNobody;
    std::uint8_t signalling_unit = kNobody;
    std::array<std::uint64_t, std::bit_ceil(kMostTokens)> takes{};  // ring: the last waits' cycles
  };

  // Calls visit(semaphore) for each one of `mask`.
  template <typename Visit>
  static void for_each_semaphore(std::uint16_t mask, Visit visit) {
    for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
      visit(static_cast<std::size_t>(std::countr_zero(rest)));
    }
  }

  std::size_t place_of(std::size_t semaphore, std::uint64_t token) const {
    return semaphore * capacity_ + (token & (capacity_ - 1));
  }
  void grow();
  // What is rare or an error.
  [[noreturn]] static void nobody_signals(Unit unit, std::size_t semaphore);
  static void begin_use(std::uint8_t& known, Unit unit, std::size_t semaphore, const char* does);
  static void check_overflow(bool overflows, std::size_t semaphore, std::uint64_t cycle);

  TokenCounts initial_;
  std::array<Line, kSemaphores> lines_;
  // The tokens that are not taken: a ring for each semaphore, all of one size, a power of two.
  std::uint64_t capacity_;
  std::vector<std::uint64_t> arrivals_;
};

inline bool TokenLines::has_next(std::uint16_t mask) const {
  bool all = true;
  for_each_semaphore(mask, [&](std::size_t s) { all &= left(s) != 0; });
  return all;
}

inline std::uint64_t TokenLines::arrival(Unit unit, std::uint16_t mask) const {
  std::uint64_t latest = 0;
  for_each_semaphore(mask, [&](std::size_t s) {
    if (left(s) == 0) nobody_signals(unit, s);
    latest = std::max(latest, arrivals_[place_of(s, lines_[s].taken)]);
  });
  return latest;
}

// Token k + 15 comes while token k is there when the wait for token k comes later. Whichever of the
// two is added last sees that.
inline void TokenLines::take(Unit unit, std::uint16_t mask, std::uint64_t cycle) {
  for_each_semaphore(mask, [&](std::size_t s) {
    Line& line = lines_[s];
    if (line.waiting_unit != static_cast<std::uint8_t>(unit)) {
      begin_use(line.waiting_unit, unit, s, "wait for it");
    }
    const std::uint64_t token = line.taken++;
    line.takes[token % line.takes.size()] = cycle;
    if (token + kMostTokens < line.signalled) {
      const std::uint64_t arrives = arrivals_[place_of(s, token + kMostTokens)];
      check_overflow(cycle > arrives, s, arrives);
    }
  });
}

inline void TokenLines::signal(Unit unit, std::uint16_t mask, std::uint64_t cycle) {
  for_each_semaphore(mask, [&](std::size_t s) {
    Line& line = lines_[s];
    if (line.signalling_unit != static_cast<std::uint8_t>(unit)) {
      begin_use(line.signalling_unit, unit, s, "signal it");
    }
    if (left(s) == capacity_) grow();
    const std::uint64_t token = line.signalled++;
    arrivals_[place_of(s, token)] = cycle;
    if (token - kMostTokens < line.taken) {  // wraps to a large number for the first tokens
      check_overflow(line.takes[(token - kMostTokens) % line.takes.size()] > cycle, s, cycle);
    }
  });
}

}  // namespace qsim::sim
