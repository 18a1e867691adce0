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

CLI::Option* add_word(CLI::App& app, const std::string& name, const std::vector<std::string>& words,
                      std::string& value, const std::string& description) {
  return app.add_option(name, value, description)->check(one_of(words))->capture_default_str();
}

CLI::Option* add_file(CLI::App& app, const std::string& name, std::string& file,
                      const std::string& description) {
  return app.add_option(name, file, description)->type_name("FILE");
}

}  // namespace qsim
