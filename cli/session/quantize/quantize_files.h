// The files of `qsim quantize` beside the network that it writes.
#pragma once

#include "cli/session/inputs/picture_set.h"
#include "cli/terminal/context.h"

namespace qsim {

// Throws Error where an output of the options is a file that they read (exit code 2) or cannot be
// written (3), the sidecar among them.
void require_files(const Context& context, const Options& options, const PictureSet& pictures);

// The sidecar of the model, as it is, beside the quantized one.
void write_sidecar(Context& context, const Options& options);

}  // namespace qsim
