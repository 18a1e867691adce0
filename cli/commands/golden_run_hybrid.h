// `qsim golden run` of a network parts of which are integers.
#pragma once

#include <cstdint>
#include <memory>

#include "cli/terminal/context.h"
#include "core/error.h"
#include "files/held_file.h"

namespace qsim {

// So many pictures, or fewer, are printed with their classes.
inline constexpr std::int64_t kShownPictures = 20;

// The network that --model or the configuration names, where it is such a one; else null.
std::shared_ptr<const HeldFile> hybrid_file(const Options& options);

ExitCode golden_run_hybrid(Context& context, const std::shared_ptr<const HeldFile>& held);

}  // namespace qsim
