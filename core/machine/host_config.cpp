#include "core/machine/host_config.h"

#include <array>
#include <charconv>

#include "core/base/error.h"

namespace qsim {
namespace {

constexpr std::array<HostConfigField, 3> kHostFields = {{
    {"ops_per_cycle", &HostConfig::ops_per_cycle, nullptr, "operations",
     "operations of the host in a cycle"},
    {"bytes_per_cycle", &HostConfig::bytes_per_cycle, nullptr, "bytes",
     "bytes that it reads and writes"},
    {"overlap", nullptr, &HostConfig::overlap, "", "whether array and host run at a time"},
}};

}  // namespace

std::span<const HostConfigField> host_config_fields() { return kHostFields; }

std::string value_text(const HostConfig& host, const HostConfigField& field) {
  if (field.flag != nullptr) return host.*field.flag ? "true" : "false";
  std::array<char, 400> text{};  // of any double
  const auto end = std::to_chars(text.data(), text.data() + text.size(), host.*field.rate,
                                 std::chars_format::fixed);
  QSIM_CHECK(end.ec == std::errc(), "a rate's digits have room");
  return {text.data(), end.ptr};
}

void validate(const HostConfig& host) {
  for (const HostConfigField& field : kHostFields) {
    if (field.rate == nullptr) continue;
    const double rate = host.*field.rate;
    if (rate >= kLeastHostRate && rate <= kMostHostRate) continue;
    throw_bad_input("host: " + std::string(field.name) + " is " + value_text(host, field) +
                    "; allowed: a number from 0.001 to 1000000");
  }
}

}  // namespace qsim
