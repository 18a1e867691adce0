// The layers of a profile as tables for spreadsheets and for scripts that read SCALE-Sim's reports.
#pragma once

#include <string>

#include "report/results/profile.h"

namespace qsim::report {

enum class ProfileColumns : std::uint8_t {
  kQsim,
  kScaleSimCompute,    // COMPUTE_REPORT.csv
  kScaleSimBandwidth,  // BANDWIDTH_REPORT.csv
  kScaleSimAccess,     // DETAILED_ACCESS_REPORT.csv
};

// RFC 4180, one header line. kQsim has a line for each layer and one for the total of each point,
// and one with the reason for a point that cannot run. SCALE-Sim's have a line for each layer of
// the points that ran, in its own form (a blank after each comma, a comma at the end); where there
// are several points a column `Run` comes first. docs/reference/output.md says what they hold.
std::string profile_csv(const Profile& profile, ProfileColumns columns);

}  // namespace qsim::report
