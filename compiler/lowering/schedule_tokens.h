// The tokens that the uses of a memory of several parts wait for and signal.
#pragma once

#include "compiler/lowering/schedule.h"

namespace qsim::compiler {

constexpr std::uint16_t mask(Token token) {
  return static_cast<std::uint16_t>(1u << static_cast<unsigned>(token));
}

// The wait of use `use` of a memory of `parts` parts: the first use of each part has none.
constexpr unsigned wait(Token token, std::int64_t use, std::int64_t parts) {
  return use < parts ? 0u : mask(token);
}

// The signal at the end of use `use` of `uses`: the last use of each part has none.
constexpr unsigned signal(Token token, std::int64_t use, std::int64_t uses, std::int64_t parts) {
  return use + parts < uses ? mask(token) : 0u;
}

constexpr Tokens tokens(unsigned wait_mask, unsigned signal_mask) {
  return {static_cast<std::uint16_t>(wait_mask), static_cast<std::uint16_t>(signal_mask)};
}

}  // namespace qsim::compiler
