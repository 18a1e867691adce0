// What a run's report says of its origin, so that it can be run again.
#pragma once

#include <string>
#include <vector>

#include "report/run_report.h"
#include "sim/cli/network.h"

namespace qsim {

// Version, commit, names, and the hashes that import_network took.
Provenance provenance_of(const std::vector<std::string>& argv, const Options& options,
                         const Network& network);

}  // namespace qsim
