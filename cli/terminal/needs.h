// Options that do nothing without others: each is a row, and giving it for nothing is an error.
#pragma once

#include <functional>
#include <span>
#include <string>

namespace qsim {

// What an option needs to have an effect.
struct Need {
  const char* option;
  bool is_met;
  const char* what;
};

// Throws Error for the first option that `was_given` and whose need is not met.
void require_needs(std::span<const Need> needs,
                   const std::function<bool(const char* option)>& was_given);

}  // namespace qsim
