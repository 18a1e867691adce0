// What a run's report says of its origin, so that it can be run again.
#pragma once

#include <string>
#include <vector>

#include "cli/session/network.h"
#include "report/run_report.h"

namespace qsim {

// Version, commit, names, and the hashes that import_network took.
Provenance provenance_of(const std::vector<std::string>& argv, const Options& options,
                         const Network& network);

}  // namespace qsim
