// What `qsim profile` runs: each of its models on each of its configurations, with each combination
// of the values of --set, and with each dataflow.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/session/inputs/config_fields.h"
#include "cli/terminal/declarations.h"
#include "core/machine/arch_config.h"
#include "core/machine/mapping.h"
#include "report/results/network_result.h"

namespace qsim::cli {

inline constexpr std::int64_t kMaxProfilePoints = 100'000;

// The dataflows in the order of --dataflow, "all" meaning the three and then "auto": short names.
// Throws Error (exit code 2) for one that is named twice.
std::vector<std::string> asked_dataflows(const Words& words);

// What --config names, and what points call it.
struct NamedConfig {
  std::string label;
  ArchConfig arch;
};

// The configurations, each called by its name; where two have the same name, those two by what the
// user wrote, `given`, of which no two are equal.
std::vector<NamedConfig> named_configs(const std::vector<ArchConfig>& configs,
                                       const std::vector<std::string>& given);

struct ProfilePoint {
  std::size_t model = 0;          // of the models in their order
  std::string config;             // label
  std::size_t config_number = 0;  // of the configurations in their order
  ArchConfig arch;                // not validated: what it refuses is the point's error
  std::vector<report::FieldValue> set;
  std::string dataflow;
  std::size_t group = 0;  // points of one model and `arch`, which differ in the dataflow alone
};

// Models outermost, then configurations, the values of --set (the last field fastest), dataflows.
// Throws Error (exit code 2) for more than kMaxProfilePoints.
std::vector<ProfilePoint> profile_points(std::size_t models,
                                         const std::vector<NamedConfig>& configs,
                                         const std::vector<FieldValues>& fields,
                                         const std::vector<std::string>& dataflows);

}  // namespace qsim::cli
