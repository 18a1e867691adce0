// When the tokens of each semaphore arrive, and which command takes which: the k-th wait takes the
// token of the k-th signal, the initial ones first. It needs no clock: signals and waits may be
// added in any order in which a token is signalled before it is taken.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "core/isa/commands.h"

namespace qsim {

// Tokens of each semaphore at cycle 0, at most kSemaphoreMax each.
using TokenCounts = std::array<std::uint8_t, kSemaphores>;

class TokenLines {
 public:
  explicit TokenLines(const TokenCounts& initial);

  // To the initial tokens, at cycle 0.
  void reset();

  // Semaphores of `mask` whose next token nobody has signalled.
  std::uint16_t missing(std::uint16_t mask) const;
  // When the next token of each semaphore of `mask` is there, the latest of them; 0 for no
  // semaphore. None may be missing.
  std::uint64_t arrival(std::uint16_t mask) const;

  // `unit` takes the next token of each semaphore of `mask` at `cycle`, or signals one that arrives
  // at `cycle`. The cycles of a semaphore's waits never go back, nor do those of its signals.
  // Throws InternalError when a semaphore has a second waiting or signalling unit, and when it
  // holds more than kSemaphoreMax tokens at the end of a cycle.
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

  std::uint64_t& arrival_of(std::size_t semaphore, std::uint64_t token) {
    return arrivals_[semaphore * capacity_ + (token & (capacity_ - 1))];
  }
  const std::uint64_t& arrival_of(std::size_t semaphore, std::uint64_t token) const {
    return arrivals_[semaphore * capacity_ + (token & (capacity_ - 1))];
  }
  void grow();

  TokenCounts initial_;
  std::array<Line, kSemaphores> lines_;
  // Of tokens that are not taken: a ring for each semaphore, all of one size, a power of two.
  std::uint64_t capacity_;
  std::vector<std::uint64_t> arrivals_;
};

}  // namespace qsim
