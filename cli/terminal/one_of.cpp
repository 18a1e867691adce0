#include "cli/terminal/one_of.h"

#include <algorithm>

namespace qsim {

CLI::Validator one_of(const std::vector<std::string>& words) {
  std::string names;
  for (const std::string& word : words) names += (names.empty() ? "" : ", ") + word;
  const auto error = [words, names](const std::string& found) -> std::string {
    if (std::find(words.begin(), words.end(), found) != words.end()) return "";
    return "found '" + found + "'; allowed: " + names;
  };
  return {error, "{" + CLI::detail::join(words) + "}"};
}

}  // namespace qsim
