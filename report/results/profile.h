// A profile: results of one or more networks on several accelerators and with several dataflows,
// which one wins, and why. Plain data.
#pragma once

#include <string>
#include <vector>

#include "report/results/difference_words.h"

namespace qsim {

// The best result of a model, with its reasons.
struct Winner {
  std::string model;
  std::size_t point = 0;  // in Profile::points
  std::vector<std::string> reasons;
};

struct Profile {
  std::string version;
  std::string commit;
  std::vector<std::string> argv;
  // What the user named, with a hash of what was read; "" for what is not a file.
  std::vector<std::pair<std::string, std::string>> models;
  std::vector<std::pair<std::string, std::string>> configs;
  Measure measure = Measure::kCycles;
  std::vector<NetworkResult> points;
  std::vector<Winner> winners;  // by model; none for a model that ran nowhere
};

// Ranks the points of each model by the measure: of equal ones the one with fewer cycles, then the
// one with fewer DRAM bytes, then the first.
void choose_winners(Profile& profile);

// The table, the winners with their reasons, and why points could not run.
std::string profile_text(const Profile& profile);
// Schema "qsim.profile/1" (docs/reference/stats.md).
std::string profile_json(const Profile& profile);

}  // namespace qsim
