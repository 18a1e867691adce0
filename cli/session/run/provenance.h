// What a run's report says of its origin, so that it can be run again.
#pragma once

#include <string>
#include <vector>

#include "cli/session/inputs/input_source.h"
#include "cli/session/inputs/model_source.h"
#include "report/run_report.h"

namespace qsim::cli {

// Version, commit and names; where a report wants them, also hashes of the files that were
// read (file_hash.h; "" for what is not a file). Made in the import phase, so that a change to a
// file during a long run neither ends the run nor changes what the run says of itself. Throws Error
// when a file was written to while it was read.
report::Provenance provenance_of(const std::vector<std::string>& argv,
                                 const NetworkRequest& request, std::uint64_t seed,
                                 const Model& model, const ModelInput& input, bool wants_hashes);

}  // namespace qsim::cli
