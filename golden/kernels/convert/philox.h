// Philox4x32-10, the counter-based random numbers of stochastic rounding (Salmon et al., "Parallel
// random numbers: as easy as 1, 2, 3", SC 2011). Host and device compute the same words.
#pragma once

#include <cstdint>

#include "core/numerics/requantize.h"

namespace qsim::golden {

struct PhiloxBlock {
  std::uint32_t words[4];
};

// The block of a counter and a key of two words each; the upper words of the counter are 0.
QSIM_HOST_DEVICE constexpr PhiloxBlock philox_block(PhiloxBlock counter, std::uint64_t key) {
  auto low = static_cast<std::uint32_t>(key);
  auto high = static_cast<std::uint32_t>(key >> 32);
  std::uint32_t* c = counter.words;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = std::uint64_t{0xD2511F53} * c[0];
    const std::uint64_t second = std::uint64_t{0xCD9E8D57} * c[2];
    const auto next0 = static_cast<std::uint32_t>(second >> 32) ^ c[1] ^ low;
    const auto next2 = static_cast<std::uint32_t>(first >> 32) ^ c[3] ^ high;
    c[1] = static_cast<std::uint32_t>(second);
    c[3] = static_cast<std::uint32_t>(first);
    c[0] = next0;
    c[2] = next2;
    low += 0x9E3779B9;
    high += 0xBB67AE85;
  }
  return counter;
}

// The random word of element `index` of a tensor, counted row-major: word index % 4 of the block
// whose counter is index / 4.
QSIM_HOST_DEVICE constexpr std::uint32_t random_word(std::uint64_t seed, std::uint64_t index) {
  const std::uint64_t counter = index / 4;
  return philox_block({{static_cast<std::uint32_t>(counter),
                        static_cast<std::uint32_t>(counter >> 32), 0, 0}},
                      seed)
      .words[index % 4];
}

}  // namespace qsim::golden
