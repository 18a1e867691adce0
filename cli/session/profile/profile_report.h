// `--report` of a profile: the page of all its points, and of a few of them in detail.
#pragma once

#include "cli/session/profile/profile_run.h"
#include "report/results/profile.h"

namespace qsim::cli {

// Writes the page. Its runs are at most kMostPageRuns: the winner of each model, then the points of
// the Pareto front, then the others, each time those first that are nearest to their model's winner
// in the measure. They are timed
// again, with the mappings of `runs` where it has them; a point whose costs are then others (a
// search that --mapping-budget ended, of a profile that was resumed) is not shown in detail. Does
// nothing without --report, and where no point ran.
void write_profile_report(Context& context, const ProfileOptions& options,
                          const report::Profile& profile, const std::vector<ModelShapes>& models,
                          const std::vector<ProfilePoint>& points, const PointRuns& runs);

inline constexpr std::size_t kMostPageRuns = 12;

}  // namespace qsim::cli
