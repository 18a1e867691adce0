#include "cli/terminal/list_option.h"

#include <algorithm>

#include "cli/terminal/one_of.h"

namespace qsim {
namespace {

// The values between the commas of `text`. CLI11 would drop those that are empty.
void split(const std::string& name, const std::string& text, std::vector<std::string>& values) {
  if (text.empty()) {
    throw CLI::ValidationError(name, "the value is empty; give one, or leave the option out");
  }
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    values.push_back(text.substr(begin, end - begin));
    if (values.back().empty()) {
      throw CLI::ValidationError(name, "found an empty value in '" + text +
                                           "'; expected values with one comma between them");
    }
    begin = end + 1;
  }
}

}  // namespace

CLI::Option* add_list(CLI::App& app, const std::string& name, std::vector<std::string>& values,
                      const std::string& description, const std::vector<std::string>& allowed) {
  const auto read = [name, allowed, &values](const CLI::results_t& texts) {
    values.clear();
    for (const std::string& text : texts) split(name, text, values);
    if (allowed.empty()) return true;
    const CLI::Validator check = one_of(allowed);
    for (std::string& value : values) {
      const std::string error = check(value);
      if (!error.empty()) throw CLI::ValidationError(name, error);
    }
    return true;
  };
  CLI::Option* option = app.add_option(name, read, description)
                            ->expected(1, CLI::detail::expected_max_vector_size)
                            ->allow_extra_args(false);
  if (!allowed.empty()) option->type_name("{" + CLI::detail::join(allowed) + "},...");
  return option;
}

CLI::Option* add_repeated(CLI::App& app, const std::string& name, std::vector<std::string>& values,
                          const std::string& description) {
  return app.add_option(name, values, description)->allow_extra_args(false);
}

}  // namespace qsim
