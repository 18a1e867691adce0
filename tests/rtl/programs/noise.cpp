#include "tests/rtl/programs/noise.h"

#include <algorithm>
#include <numeric>

#include "core/random.h"

namespace qsim {
namespace {

// `count` numbers below `all`, ascending.
std::vector<std::size_t> draw_some(Random& random, std::size_t all, std::size_t count) {
  std::vector<std::size_t> numbers(all);
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  while (numbers.size() > count) {
    const std::int64_t at = random.uniform(0, static_cast<std::int64_t>(numbers.size()) - 1);
    numbers.erase(numbers.begin() + at);
  }
  return numbers;
}

}  // namespace

void add_noise(std::uint64_t seed, std::size_t semaphore, const CommandPositions& positions,
               ProgramDraft& program) {
  constexpr int kAttempts = 8;
  Random random(seed);
  const auto producer = static_cast<std::size_t>(random.uniform(0, kUnits - 1));
  const auto consumer = static_cast<std::size_t>(random.uniform(0, kUnits - 1));
  auto& signallers = program.streams()[producer];
  auto& waiters = program.streams()[consumer];
  const auto initial = static_cast<std::size_t>(
      random.chance(0.6) ? random.uniform(0, 3) : random.uniform(0, kSemaphoreMax));
  program.semaphores[semaphore] = {"noise" + std::to_string(semaphore),
                                   static_cast<std::uint8_t>(initial)};
  // Even if nobody waited, the value could not exceed its maximum.
  const std::size_t most = std::min(
      {signallers.size(), waiters.size(), static_cast<std::size_t>(kSemaphoreMax) - initial});
  const auto bit = static_cast<std::uint16_t>(1u << semaphore);
  for (int attempt = 0; attempt < kAttempts && most > 0; ++attempt) {
    const auto count = static_cast<std::size_t>(random.uniform(1, static_cast<std::int64_t>(most)));
    const std::vector<std::size_t> signals = draw_some(random, signallers.size(), count);
    const std::vector<std::size_t> waits = draw_some(random, waiters.size(), count);
    bool goes_on = true;
    for (std::size_t k = initial; k < count; ++k) {
      goes_on =
          goes_on && positions[consumer][waits[k]] > positions[producer][signals[k - initial]];
    }
    if (!goes_on) continue;
    for (const std::size_t i : signals) signallers[i].command.signal_mask |= bit;
    for (const std::size_t i : waits) waiters[i].command.wait_mask |= bit;
    return;
  }
}

}  // namespace qsim
