// A one-tile program with times that can be worked out on paper, for tests that change a command
// or two of it. See systemc_engine_test.cpp for the sum.
#pragma once

#include <ostream>
#include <vector>

#include "core/machine/engine.h"

namespace qsim {

// Semaphores of the programs below, as the compiler names them.
enum HandSemaphore : std::size_t {
  kActReady,
  kActFree,
  kWeightReady,
  kParamReady,
  kAccReady,
  kOutReady,
};

inline constexpr std::uint16_t mask_of(HandSemaphore semaphore) {
  return static_cast<std::uint16_t>(1u << semaphore);
}

// 4x4 array, 4-byte bus, latency 10, bursts of 8 beats, 2 outstanding.
ArchConfig hand_arch();

// A 1x1 convolution of a 4x4 picture with 4 channels: three LOADs (activations, weights,
// parameters), one EXECUTE, one POST, one STORE. Weights are the identity, biases and shifts 0, so
// that the ofmap is the input.
Program hand_program();
Tensor hand_input();

// Adds another round of the same commands.
void append_round(Program& program);

inline const std::vector<CommandTime>& of(const RunResult& result, Unit unit) {
  return result.times[static_cast<std::size_t>(unit)];
}

// For GoogleTest's messages.
void PrintTo(const CommandTime& time, std::ostream* out);

}  // namespace qsim
