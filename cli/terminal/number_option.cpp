#include "cli/terminal/number_option.h"

#include <charconv>
#include <cmath>
#include <iomanip>
#include <sstream>

#include "cli/terminal/decimal_number.h"

namespace qsim {
namespace {

// "0.001", "1000000".
std::string short_text(double number) {
  std::ostringstream text;
  text << std::setprecision(9) << number;
  return text.str();
}

}  // namespace

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

CLI::Option* add_count(CLI::App& app, const std::string& name, NumberRange range,
                       std::int64_t& number, const std::string& description) {
  const auto set = [&number](std::uint64_t value) { number = static_cast<std::int64_t>(value); };
  return add_number(app, name, range, set, description)->default_str(std::to_string(number));
}

CLI::Option* add_count(CLI::App& app, const std::string& name, NumberRange range, int& number,
                       const std::string& description) {
  const auto set = [&number](std::uint64_t value) { number = static_cast<int>(value); };
  return add_number(app, name, range, set, description)->default_str(std::to_string(number));
}

CLI::Option* add_count(CLI::App& app, const std::string& name, NumberRange range,
                       std::optional<std::int64_t>& number, const std::string& description) {
  const auto set = [&number](std::uint64_t value) { number = static_cast<std::int64_t>(value); };
  return add_number(app, name, range, set, description);
}

CLI::Option* add_decimal(CLI::App& app, const std::string& name, const DecimalRange& range,
                         std::optional<double>& value, const std::string& description) {
  const auto read = [name, range, &value](const CLI::results_t& values) {
    const std::optional<double> number = decimal_fraction(values.back(), 0);
    if (!number || *number < range.least || *number > range.most) {
      throw CLI::ValidationError(
          name, "found '" + values.back() + "'; allowed: " + short_text(range.least) + " to " +
                    short_text(range.most) + ", in decimal digits, with a point or without");
    }
    value = decimal_fraction(values.back(), range.exponent);
    return true;
  };
  return app.add_option(name, read, description);
}

CLI::Option* add_float(CLI::App& app, const std::string& name, std::optional<float>& value,
                       const std::string& description) {
  const auto read = [name, &value](const CLI::results_t& values) {
    const std::string& text = values.back();
    float number = 0;
    const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || last != text.data() + text.size() || !std::isfinite(number) ||
        number <= 0) {
      throw CLI::ValidationError(
          name, "found '" + text + "'; allowed: a positive float32 number, such as 3.72e-05");
    }
    value = number;
    return true;
  };
  return app.add_option(name, read, description);
}

}  // namespace qsim
