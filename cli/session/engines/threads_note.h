// What the user is told when the system starts fewer threads than a command asks for.
#pragma once

#include <cstdint>

#include "cli/terminal/context.h"

namespace qsim::cli {

// A note when `started` are fewer than `asked`, of which 0 is one for each processor. Both count
// the calling thread. The work goes on, and no result depends on their number.
void note_fewer_threads(Context& context, std::int64_t asked, std::int64_t started);

}  // namespace qsim::cli
