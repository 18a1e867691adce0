// Results as JSON, and back: the points of a profile (schema "qsim.profile/1") and the runs that
// `qsim run --json` wrote (docs/reference/output.md).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "report/results/indexed_map.h"
#include "report/results/network_result.h"

namespace qsim::report {

nlohmann::ordered_json result_json(const NetworkResult& result);

// What result_json() made. Throws Error (exit code 3) beginning with `place` where `json` is not
// that.
NetworkResult result_of_json(const ReadJson& json, const std::string& place);

// What a file holds: the points of a profile, or the one result of a run.
struct ResultsFile {
  std::string name;  // as the user gave it
  bool is_run = false;
  std::vector<NetworkResult> results;
};

// Reads a file that --json of `run` or `profile` wrote. Throws Error (exit code 3) naming the file
// for one that cannot be read, is no JSON, has another schema, lacks a field, is a run without
// times, or is a profile with two points of one label (full_label).
ResultsFile load_results(const std::filesystem::path& path);

}  // namespace qsim::report
