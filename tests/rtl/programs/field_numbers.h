// Numbers as commands' fields and arrays by memory have them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compiler/verifier/command_ranges.h"

namespace qsim {

inline std::uint32_t u32(std::int64_t value) { return static_cast<std::uint32_t>(value); }
constexpr std::size_t number(compiler::verifier::Memory memory) {
  return static_cast<std::size_t>(memory);
}

}  // namespace qsim
