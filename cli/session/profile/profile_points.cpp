#include "cli/session/profile/profile_points.h"

#include <algorithm>
#include <set>

#include "cli/terminal/decimal_number.h"
#include "cli/terminal/shared_options.h"
#include "core/base/error.h"
#include "core/base/nearest_name.h"
#include "core/base/printable.h"

namespace qsim::cli {

using report::SetValue;
namespace {

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

void set_field(ArchConfig& config, const ArchConfigField& field, const SetValue& value) {
  if (field.number != nullptr) {
    config.*field.number = std::get<std::int64_t>(value);
    return;
  }
  const auto found =
      std::find(field.words.begin(), field.words.end(), std::get<std::string>(value));
  set_word(config, field, static_cast<std::size_t>(found - field.words.begin()));
}

}  // namespace

std::vector<FieldValues> field_values(const std::vector<std::string>& texts) {
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

std::vector<std::string> asked_dataflows(const Words& words) {
  std::vector<std::string> dataflows;
  for (const std::string& word : words) {
    std::vector<std::string> named = {report::short_dataflow(word)};
    if (word == "all") {
      named.assign(kShortDataflowNames.begin(), kShortDataflowNames.end());
      named.emplace_back(kAutoDataflow);
    }
    for (const std::string& name : named) {
      if (std::find(dataflows.begin(), dataflows.end(), name) != dataflows.end()) {
        throw Error(ExitCode::kUsage,
                    "--dataflow: names '" + name +
                        "' twice; name each one once; all is ws, os, is and auto");
      }
      dataflows.push_back(name);
    }
  }
  return dataflows;
}

std::vector<NamedConfig> named_configs(const std::vector<ArchConfig>& configs,
                                       const std::vector<std::string>& given) {
  const auto named = [&](const std::string& label) {
    return std::count_if(configs.begin(), configs.end(),
                         [&](const ArchConfig& config) { return config.name == label; });
  };
  std::vector<NamedConfig> result;
  std::set<std::string> labels;
  for (std::size_t i = 0; i < configs.size(); ++i) {
    result.push_back({named(configs[i].name) == 1 ? configs[i].name : given[i], configs[i]});
    labels.insert(result.back().label);
  }
  if (labels.size() == configs.size()) return result;
  // What the user wrote for one is the name of another.
  for (std::size_t i = 0; i < configs.size(); ++i) result[i].label = given[i];
  return result;
}

std::vector<ProfilePoint> profile_points(std::size_t models,
                                         const std::vector<NamedConfig>& configs,
                                         const std::vector<FieldValues>& fields,
                                         const std::vector<std::string>& dataflows) {
  std::vector<ProfilePoint> points;
  for (std::size_t model = 0; model < models; ++model) {
    for (std::size_t i = 0; i < configs.size(); ++i) {
      points.push_back({model, configs[i].label, i, configs[i].arch, {}, ""});
    }
  }
  // Each point becomes one for each of `count` values, before the next point.
  const auto multiply = [&points](std::size_t count, auto give) {
    if (points.size() * count > kMaxProfilePoints) {
      throw Error(ExitCode::kUsage, "these options make more than " +
                                        std::to_string(kMaxProfilePoints) +
                                        " points; give fewer values");
    }
    std::vector<ProfilePoint> more;
    for (const ProfilePoint& point : points) {
      for (std::size_t i = 0; i < count; ++i) give(more.emplace_back(point), i);
    }
    points = std::move(more);
  };
  for (const FieldValues& field : fields) {
    multiply(field.values.size(), [&](ProfilePoint& point, std::size_t i) {
      set_field(point.arch, *field.field, field.values[i]);
      point.set.emplace_back(field.field->name, field.values[i]);
    });
  }
  for (std::size_t i = 0; i < points.size(); ++i) points[i].group = i;
  multiply(dataflows.size(),
           [&](ProfilePoint& point, std::size_t i) { point.dataflow = dataflows[i]; });
  return points;
}

}  // namespace qsim::cli
