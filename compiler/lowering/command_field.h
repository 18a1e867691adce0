// Sizes and addresses as fields of commands.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/error.h"

namespace qsim::compiler {

// `value`, which must be in 0..2^32-1; anything else is a bug of the lowering.
template <typename T>
std::uint32_t command_field(T value) {
  QSIM_CHECK(value >= 0 && static_cast<std::uint64_t>(value) <= 0xffffffffu,
             "command field value " + std::to_string(value));
  return static_cast<std::uint32_t>(value);
}

}  // namespace qsim::compiler
