// Runs the points of a profile on several threads, and keeps what is finished.
#pragma once

#include <vector>

#include "cli/session/profile/network_time.h"
#include "cli/session/profile/profile_options.h"
#include "cli/session/profile/profile_points.h"
#include "cli/terminal/context.h"

namespace qsim::cli {

struct PointRuns {
  std::vector<report::NetworkResult> results;
  // By point; a point that was kept from before has none. Empty where a search is short enough to
  // be done again, or nobody needs them (no --report).
  std::vector<std::vector<LayerMapping>> mappings;
};

// One result a point, in their order. A point that cannot run has an error; it is not kept, so that
// it is tried again. An error of the file of --resume, or a bug, ends the profile. Threads and not
// processes: nothing in the timing has state, the models are in memory once, and a point takes
// milliseconds.
PointRuns run_points(Context& context, const ProfileOptions& options,
                     const std::vector<ModelShapes>& models,
                     const std::vector<ProfilePoint>& points);

}  // namespace qsim::cli
