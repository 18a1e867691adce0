// Numbers and lists as words of a sentence.
#pragma once

#include <string>
#include <string_view>

namespace qsim {

// `format` is printf's, for one double and at most a few words; any double fits.
std::string number_text(double value, const char* format);
// `otherwise` in place of an infinity or a NaN.
std::string finite_text(double value, const char* format, const char* otherwise);

// "a, b, c"; "" for an empty list.
template <typename Words>
std::string joined(const Words& words, std::string_view between = ", ") {
  std::string text;
  for (bool is_first = true; const auto& word : words) {
    if (!is_first) text += between;
    text += word;
    is_first = false;
  }
  return text;
}

}  // namespace qsim
