#include "cli/session/profile/profile_points.h"

#include <algorithm>
#include <set>

#include "cli/terminal/shared_options.h"
#include "core/base/error.h"

namespace qsim::cli {

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
