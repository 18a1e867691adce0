// What the strict YAML reader checks on the bytes of a file, without yaml-cpp. `from` is the text
// from some place on, to the end of the file.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace qsim {

// Throws Error(kBadInput) with source:line:column for a byte that is not UTF-8, a control character
// other than a tab and a line's end, and a line that begins with '%'.
void require_yaml_text(std::string_view text, const std::string& source);

// The length, with both quotes, of the quoted value that `from` begins with; npos where its line
// ends first.
std::size_t quoted_length(std::string_view from);

// Whether the '[' or '{' that `from` begins with has no partner. Brackets in quotes and comments do
// not count, and yaml-cpp checks the kinds. False where a quote is left open, which is an error of
// its own. Reads up to the partner, so a reader that limits the depth reads each byte a limited
// number of times.
bool leaves_bracket_open(std::string_view from);

}  // namespace qsim
