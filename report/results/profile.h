// A profile: results of one or more networks on several accelerators and with several dataflows,
// which one wins, and why. Plain data.
#pragma once

#include <string>
#include <vector>

#include "report/results/difference_words.h"

namespace qsim::report {

// The best result of a model, with its reasons.
struct Winner {
  std::string model;
  std::size_t point = 0;           // in Profile::points
  std::vector<std::size_t> equal;  // points as good in all that ranks them, ascending
  std::vector<std::string> reasons;
};

// How mappings were searched: the options of that name.
struct ProfileSearch {
  std::string objective = "cycles";
  std::optional<double> slack;  // a fraction; absent: the objective has none
  std::string mapping_search = "fast";
  std::optional<double> mapping_budget;  // seconds; absent: none
  std::string mapping;                   // the file of --mapping; "" for none
};

struct Profile {
  std::string version;
  std::string commit;
  std::vector<std::string> argv;
  // What the user named, with a hash of what was read; "" for what is not a file.
  std::vector<std::pair<std::string, std::string>> models;
  std::vector<std::pair<std::string, std::string>> configs;
  std::string rounding;  // that --rounding names; empty without the option
  ProfileSearch search;
  std::string energy_table;  // its name, "" for none
  std::string energy_unit;
  Measure measure = Measure::kCycles;
  std::vector<NetworkResult> points;
  std::vector<Winner> winners;  // by model; none for a model that ran nowhere
};

// "cycles", "dram_bytes", "energy", "energy_delay": of JSON.
std::string measure_name(Measure measure);

// The fields that points set, each once, as they come.
std::vector<std::string> set_fields(const Profile& profile);
// The models of the points, each once, in their order.
std::vector<std::string> models_of(const Profile& profile);

// Fills what points have only beside each other, and needs their areas: TOPS/W, the unit of the
// energies, and the Pareto front of each model in cycles, energy (without energies: bytes of DRAM)
// and area (without areas: PEs).
void complete_points(Profile& profile);
// "cycles, energy and area": what the front is of.
std::string front_words(const Profile& profile);

// Ranks the points of each model by the measure. A tie goes to fewer cycles, then fewer bytes of
// DRAM, then less energy, then less area, then fewer PEs. Points that are equal in all of that are
// the winner's `equal`, and the first of them is `point`.
void choose_winners(Profile& profile);

// "pe8x8, ws wins for vgg16 (fewest cycles): " and its first two reasons, of each model.
std::string winners_summary(const Profile& profile);

// The table, the winners with their reasons, the Pareto front, and why points could not run.
std::string profile_text(const Profile& profile);
// Schema "qsim.profile/1" (docs/reference/output.md).
std::string profile_json(const Profile& profile);

}  // namespace qsim::report
