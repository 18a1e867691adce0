// Seeded pseudo-random numbers with a fixed definition, so that a seed means the same tensors on
// every machine and with every standard library. Not for cryptography.
#pragma once

#include <cstdint>

namespace qsim {

// SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += kStep;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }

  // Does what so many calls of next() do, at once.
  void skip(std::uint64_t draws) { state_ += draws * kStep; }

  // Uniform in [low, high], both ends included; low <= high. (Bias below 2^-32 for small ranges.)
  std::int64_t uniform(std::int64_t low, std::int64_t high) {
    const auto span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
    if (span == 0) return static_cast<std::int64_t>(next());
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + next() % span);
  }

  bool chance(double probability) {
    return static_cast<double>(next() >> 11) * 0x1.0p-53 < probability;
  }

 private:
  static constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15ull;

  std::uint64_t state_;
};

}  // namespace qsim
