#include "cli/terminal/declarations.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iomanip>
#include <sstream>

#include "cli/terminal/decimal_number.h"
#include "cli/terminal/usage_error.h"
#include "core/base/words.h"

namespace qsim::cli {
namespace {

[[noreturn]] void refuse_value(const std::string& name, const std::string& found,
                               const std::string& allowed) {
  usage_error(name + ": found '" + found + "'; allowed: " + allowed);
}

// "0.001", "1000000".
std::string short_text(double number) {
  std::ostringstream text;
  text << std::setprecision(9) << number;
  return text.str();
}

// The values between the commas of `text`.
Words split(const std::string& name, const std::string& text) {
  if (text.empty()) {
    usage_error(name + ": the value is empty; give one, or leave the option out");
  }
  Words values;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    values.push_back(text.substr(begin, end - begin));
    if (values.back().empty()) {
      usage_error(name + ": found an empty value in '" + text +
                  "'; expected values with one comma between them");
    }
    begin = end + 1;
  }
  return values;
}

}  // namespace

std::string OptionRow::long_name() const { return name.substr(name.find(',') + 1); }

OptionRow& OptionRow::called(std::string type) {
  value = std::move(type);
  return *this;
}

OptionRow& OptionRow::shows(std::string text) {
  shown_default = std::move(text);
  return *this;
}

OptionRow& OptionRow::required() {
  is_required = true;
  return *this;
}

OptionRow& OptionRow::read(Reads how, std::string as) {
  reads = how;
  read_as = std::move(as);
  return *this;
}

OptionRow& OptionRow::write(Writes how) {
  writes = how;
  return *this;
}

std::string choice_text(const Words& words) { return "{" + joined(words, ",") + "}"; }

std::string refusal_of(const std::string& word, const Words& words) {
  if (std::ranges::find(words, word) != words.end()) return "";
  return "found '" + word + "'; allowed: " + joined(words, ", ");
}

OptionRow& Declarations::add(std::string name, std::string type, std::string meaning,
                             std::function<void(const Words&)> take) {
  OptionRow& row = rows_.emplace_back();
  row.name = std::move(name);
  row.value = std::move(type);
  row.meaning = std::move(meaning);
  row.take = std::move(take);
  row.group = group_;
  return row;
}

OptionRow& Declarations::text(std::string name, std::string& value, std::string meaning,
                              std::string called) {
  const auto take = [&value](const Words& values) { value = values.back(); };
  return add(std::move(name), std::move(called), std::move(meaning), take).shows(value);
}

OptionRow& Declarations::input_file(std::string name, std::string& file, std::string as,
                                    std::string meaning) {
  return text(std::move(name), file, std::move(meaning), "FILE").read(Reads::kFile, std::move(as));
}

OptionRow& Declarations::output_file(std::string name, std::string& file, std::string meaning) {
  return text(std::move(name), file, std::move(meaning), "FILE").write(Writes::kFile);
}

OptionRow& Declarations::output_place(std::string name, std::string& file, std::string meaning) {
  return text(std::move(name), file, std::move(meaning), "FILE|-").write(Writes::kFileOrStdout);
}

OptionRow& Declarations::output_folder(std::string name, std::string& folder,
                                       bool (*holds)(const std::string&), std::string meaning) {
  OptionRow& row = text(std::move(name), folder, std::move(meaning), "DIR");
  row.write(Writes::kFolder);
  row.holds = holds;
  return row;
}

OptionRow& Declarations::word(std::string name, std::string& value, const Words& words,
                              std::string meaning) {
  OptionRow& row = text(std::move(name), value, std::move(meaning));
  row.allowed = choice_text(words);
  row.refusal = [words](const std::string& found) { return refusal_of(found, words); };
  return row;
}

OptionRow& Declarations::flag(std::string name, bool& value, std::string meaning) {
  const auto take = [&value](const Words&) { value = true; };
  OptionRow& row = add(std::move(name), "", std::move(meaning), take);
  row.is_flag = true;
  return row;
}

OptionRow& Declarations::digits(std::string name, NumberRange range,
                                std::function<void(std::uint64_t)> set, std::string meaning) {
  const auto take = [name, range, set = std::move(set)](const Words& values) {
    const std::optional<std::uint64_t> number = decimal_number(values.back());
    if (!number || *number < range.least || *number > range.most) {
      refuse_value(name, values.back(),
                   std::to_string(range.least) + " to " + std::to_string(range.most) +
                       ", in decimal digits");
    }
    set(*number);
  };
  const std::string type =
      "N in " + std::to_string(range.least) + ".." + std::to_string(range.most);
  return add(std::move(name), type, std::move(meaning), take);
}

OptionRow& Declarations::number(std::string name, NumberRange range,
                                std::optional<std::int64_t>& value, std::string meaning) {
  const auto set = [&value](std::uint64_t number) { value = static_cast<std::int64_t>(number); };
  return digits(std::move(name), range, set, std::move(meaning));
}

OptionRow& Declarations::seed(std::uint64_t& value, std::string meaning) {
  NumberRange all(0, 0);
  all.most = UINT64_MAX;
  return number("--seed", all, value, std::move(meaning));
}

OptionRow& Declarations::decimal(std::string name, const DecimalRange& range,
                                 std::optional<double>& value, std::string meaning) {
  const auto take = [name, range, &value](const Words& values) {
    const std::optional<double> number = decimal_fraction(values.back(), 0);
    if (!number || *number < range.least || *number > range.most) {
      refuse_value(name, values.back(),
                   short_text(range.least) + " to " + short_text(range.most) +
                       ", in decimal digits, with a point or without");
    }
    value = decimal_fraction(values.back(), range.exponent);
  };
  return add(std::move(name), "", std::move(meaning), take);
}

OptionRow& Declarations::real(std::string name, std::optional<float>& value, std::string meaning) {
  const auto take = [name, &value](const Words& values) {
    const std::string& text = values.back();
    float number = 0;
    const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || last != text.data() + text.size() || !std::isfinite(number) ||
        number <= 0) {
      refuse_value(name, text, "a positive float32 number, such as 3.72e-05");
    }
    value = number;
  };
  return add(std::move(name), "", std::move(meaning), take);
}

OptionRow& Declarations::list(std::string name, Words& values, std::string meaning,
                              const Words& allowed) {
  const auto take = [name, allowed, &values](const Words& texts) {
    values.clear();
    for (const std::string& text : texts) {
      for (std::string& value : split(name, text)) values.push_back(std::move(value));
    }
    if (allowed.empty()) return;
    for (const std::string& value : values) {
      const std::string wrong = refusal_of(value, allowed);
      if (!wrong.empty()) usage_error(name + ": " + wrong);
    }
  };
  OptionRow& row = add(name, "", std::move(meaning), take);
  if (!allowed.empty()) row.called(choice_text(allowed) + ",...");
  row.is_repeated = row.has_commas = true;
  return row;
}

OptionRow& Declarations::repeated(std::string name, Words& values, std::string meaning) {
  const auto take = [&values](const Words& texts) { values = texts; };
  OptionRow& row = add(std::move(name), "TEXT", std::move(meaning), take);
  row.is_repeated = true;
  return row;
}

void Declarations::run_checks() const {
  for (const std::function<void()>& condition : checks_) condition();
}

bool Declarations::given(std::string_view name) const {
  const auto row = std::ranges::find(rows_, name, &OptionRow::long_name);
  QSIM_CHECK(row != rows_.end(), std::string(name) + " is an option of this command");
  return row->count > 0;
}

void Declarations::require_needs(std::span<const Need> needs) const {
  for (const Need& need : needs) {
    if (!given(need.option) || need.is_met) continue;
    usage_error(std::string(need.option) + " does nothing here: it needs " + need.what +
                "; leave it out");
  }
}

void Declarations::declare_outputs() {
  output_place("--json", outputs_.json, "also write the result as JSON; - is stdout");
  flag("--quiet", outputs_.quiet, "write no progress and no notes to stderr");
}

}  // namespace qsim::cli
