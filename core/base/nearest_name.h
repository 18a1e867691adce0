// The name that a misspelled word may have meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace qsim {

// The member of `names` with the least edit distance to `word`; "" when none is near.
std::string_view nearest_name(std::string_view word, std::span<const std::string_view> names);

// "'conv1', 'conv2', 'fc' and 9 more": a few of `names` for a message, those of the least edit
// distance to `word` first, of equal ones in their order. "nothing" where there are none.
std::string nearest_names(std::string_view word, std::span<const std::string_view> names);

}  // namespace qsim
