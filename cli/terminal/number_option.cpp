#include "cli/terminal/number_option.h"

#include "cli/terminal/decimal_number.h"

namespace qsim {

CLI::Option* add_number(CLI::App& app, const std::string& name, NumberRange range,
                        std::function<void(std::uint64_t)> set, const std::string& description) {
  const auto read = [name, range, set = std::move(set)](const CLI::results_t& values) {
    const std::optional<std::uint64_t> number = decimal_number(values.back());
    if (!number || *number < range.least || *number > range.most) {
      throw CLI::ValidationError(name, "found '" + values.back() +
                                           "'; allowed: " + std::to_string(range.least) + " to " +
                                           std::to_string(range.most) + ", in decimal digits");
    }
    set(*number);
    return true;
  };
  const std::string type =
      "N in " + std::to_string(range.least) + ".." + std::to_string(range.most);
  return app.add_option(name, read, description)->type_name(type);
}

}  // namespace qsim
