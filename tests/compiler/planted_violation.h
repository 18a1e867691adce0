// Plants a fault in the sample program and expects the verifier to find it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/verifier/verify.h"
#include "tests/core/program_draft.h"
#include "tests/core/sample_program.h"

namespace qsim::testing {

inline std::string joined(const std::vector<std::string>& violations) {
  std::string text;
  for (const std::string& violation : violations) text += violation + "\n";
  return text;
}

template <typename Fields>
Fields& fields(ProgramDraft& program, std::size_t index) {
  return program.fields<Fields>(index);
}

inline Command& command(ProgramDraft& program, Unit unit, std::size_t index) {
  return program.command(unit, index);
}

inline void drop(std::uint16_t& bits, std::size_t semaphore) {
  bits &= static_cast<std::uint16_t>(~sample::mask(semaphore));
}

// Takes a semaphore out of one waiting and one signalling command, so that the counts stay equal.
inline void drop_pair(ProgramDraft& p, std::size_t semaphore, Unit waiter, std::size_t wait,
                      Unit signaller, std::size_t signal) {
  drop(command(p, waiter, wait).wait_mask, semaphore);
  drop(command(p, signaller, signal).signal_mask, semaphore);
}

// The sample with one fault must be refused with a text that contains `expected`.
inline void expect_violation(const std::function<void(ProgramDraft&)>& plant,
                             const std::string& expected) {
  ProgramDraft program(sample::program());
  plant(program);
  const std::string found = joined(compiler::verify(program.program(), sample::tiny_arch()));
  EXPECT_NE(found.find(expected), std::string::npos) << "expected: " << expected << "\nfound:\n"
                                                     << found;
}

}  // namespace qsim::testing
