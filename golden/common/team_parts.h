// A ThreadTeam's work that may throw.
#pragma once

#include <cstddef>
#include <functional>

#include "golden/common/thread_team.h"

namespace qsim::golden {

// As team.run(), but `work` may throw: the other parts still run, then the exception of the first
// part that threw comes out.
void run_parts(ThreadTeam& team, std::size_t parts, const std::function<void(std::size_t)>& work);

}  // namespace qsim::golden
