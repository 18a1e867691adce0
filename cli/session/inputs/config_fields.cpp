#include "cli/session/inputs/config_fields.h"

#include <algorithm>
#include <charconv>

#include "cli/terminal/decimal_number.h"
#include "core/base/error.h"
#include "core/base/nearest_name.h"
#include "core/base/printable.h"
#include "core/base/words.h"

namespace qsim::cli {

using report::SetValue;
namespace {

constexpr std::string_view kHostPrefix = "host.";

[[noreturn]] void refuse_set(const std::string& text, const std::string& message) {
  throw Error(ExitCode::kUsage, "--set '" + echoed(text) + "': " + message);
}

const ArchConfigField& field_named(const std::string& name, const std::string& text) {
  std::vector<std::string_view> names;
  std::string list;
  for (const ArchConfigField& field : arch_config_fields()) {
    if (field.text != nullptr) continue;
    if (field.name == name) return field;
    names.push_back(field.name);
    list += (list.empty() ? "" : ", ") + std::string(field.name);
  }
  const std::string near(nearest_name(name, names));
  refuse_set(text, "no field '" + echoed(name) + "'" +
                       (near.empty() ? "." : "; did you mean '" + near + "'?") +
                       " Fields: " + list);
}

SetValue value_of(const ArchConfigField& field, const std::string& word, const std::string& text) {
  if (field.word != nullptr) {
    if (std::find(field.words.begin(), field.words.end(), word) != field.words.end()) return word;
    std::string list;
    for (const std::string_view allowed : field.words) {
      list += (list.empty() ? "" : ", ") + std::string(allowed);
    }
    refuse_set(text, "found '" + echoed(word) + "'; allowed: " + list);
  }
  const std::optional<std::uint64_t> value = decimal_number(word);
  if (!value || *value > INT64_MAX) {
    refuse_set(text, "found '" + echoed(word) +
                         "'; allowed: whole numbers in decimal digits, with "
                         "commas between them");
  }
  return static_cast<std::int64_t>(*value);
}

std::vector<SetValue> values_of(const ArchConfigField& field, const std::string& list,
                                const std::string& text) {
  std::vector<SetValue> values;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string word = list.substr(begin, end - begin);
    values.push_back(value_of(field, word, text));
    if (std::count(values.begin(), values.end(), values.back()) > 1) {
      refuse_set(text, "has " + word + " twice; name each value once");
    }
    begin = end + 1;
  }
  return values;
}

}  // namespace

void set_field(ArchConfig& config, const ArchConfigField& field, const SetValue& value) {
  if (field.number != nullptr) {
    config.*field.number = std::get<std::int64_t>(value);
    return;
  }
  const auto found =
      std::find(field.words.begin(), field.words.end(), std::get<std::string>(value));
  set_word(config, field, static_cast<std::size_t>(found - field.words.begin()));
}

std::vector<FieldValues> field_values(const Words& texts) {
  std::vector<FieldValues> fields;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) {
      refuse_set(text, "expected FIELD=VALUE or FIELD=VALUE,VALUE,...");
    }
    const ArchConfigField& field = field_named(text.substr(0, equals), text);
    for (const FieldValues& other : fields) {
      if (other.field == &field)
        refuse_set(text, "the field is set twice; give one list of values");
    }
    fields.push_back({&field, values_of(field, text.substr(equals + 1), text)});
  }
  return fields;
}

namespace {

void set_host_field(HostConfig& host, const std::string& text) {
  const std::size_t equals = std::min(text.find('='), text.size());
  const std::string name = text.substr(kHostPrefix.size(), equals - kHostPrefix.size());
  const std::string value = text.substr(std::min(equals + 1, text.size()));
  std::vector<std::string> names;
  for (const HostConfigField& field : host_config_fields()) {
    names.push_back(std::string(kHostPrefix) + std::string(field.name));
    if (field.name != name) continue;
    if (field.flag != nullptr) {
      if (value != "true" && value != "false") refuse_set(text, "allowed: true or false");
      host.*field.flag = value == "true";
      return;
    }
    const auto [end, error] =
        std::from_chars(value.data(), value.data() + value.size(), host.*field.rate);
    if (error != std::errc() || end != value.data() + value.size()) {
      refuse_set(text, "allowed: a number from 0.001 to 1000000");
    }
    return;
  }
  refuse_set(text, "no field '" + echoed(text.substr(0, equals)) + "'. Fields: " + joined(names));
}

// A configuration without a host gets one from options that give both rates.
void require_host_rates(const ArchConfig& config, const Words& texts) {
  if (!config.host) return;
  for (const HostConfigField& field : host_config_fields()) {
    const std::string name = std::string(kHostPrefix) + std::string(field.name);
    const auto is_given = [&](const std::string& text) { return text.starts_with(name + "="); };
    if (field.rate == nullptr || config.host.value().*field.rate != HostConfig().*field.rate ||
        std::ranges::any_of(texts, is_given)) {
      continue;
    }
    throw Error(ExitCode::kUsage, "--set: '" + config.name + "' has no host; also give " + name);
  }
}

}  // namespace

void set_fields(ArchConfig& config, const Words& texts) {
  Words of_array;
  for (const std::string& text : texts) {
    if (!text.starts_with(kHostPrefix)) {
      of_array.push_back(text);
      continue;
    }
    if (!config.host) config.host.emplace();
    set_host_field(*config.host, text);
  }
  require_host_rates(config, texts);
  for (const FieldValues& given : field_values(of_array)) {
    if (given.values.size() > 1) {
      throw Error(ExitCode::kUsage, "--set: '" + std::string(given.field->name) +
                                        "' has several values; `qsim profile` takes those");
    }
    set_field(config, *given.field, given.values.front());
  }
  if (!texts.empty()) validate(config);
}

}  // namespace qsim::cli
