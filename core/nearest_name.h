// The name that a misspelled word may have meant.
#pragma once

#include <span>
#include <string_view>

namespace qsim {

// The member of `names` with the least edit distance to `word`; "" when none is near.
std::string_view nearest_name(std::string_view word, std::span<const std::string_view> names);

}  // namespace qsim
