// How fast the host is beside the array, for estimates of the time of a network that needs both
// (docs/reference/host.md). One field table (host_config_fields) drives parsing, errors and the
// reference page. Programs and the array's cycles depend on none of it.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace qsim {

// Valid once validate() has passed.
struct HostConfig {
  double ops_per_cycle = 0;    // operations in a cycle of the array
  double bytes_per_cycle = 0;  // read and written in a cycle of the array
  bool overlap = false;        // whether host and array run at the same time

  bool operator==(const HostConfig&) const = default;
};

inline constexpr double kLeastHostRate = 0.001;
inline constexpr double kMostHostRate = 1e6;

// One row of the field table: a rate or a flag.
struct HostConfigField {
  std::string_view name;
  double HostConfig::*rate;  // null for a flag; a rate must be given
  bool HostConfig::*flag;
  std::string_view unit;
  std::string_view description;
};

std::span<const HostConfigField> host_config_fields();

// A field's value in words, which YAML reads as the same value: "0.25", "true".
std::string value_text(const HostConfig& host, const HostConfigField& field);

// Throws Error naming the field, its value and what is allowed.
void validate(const HostConfig& host);

}  // namespace qsim
