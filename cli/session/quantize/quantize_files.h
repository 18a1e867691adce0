// The files of `qsim quantize` beside the network that it writes.
#pragma once

#include "cli/session/quantize/quantize_options.h"
#include "cli/terminal/context.h"

namespace qsim::cli {

// Throws Error where an output of the options cannot be written, the sidecar among them.
void require_files(const Context& context, const QuantizeOptions& options);

// The sidecar of the model, as it is, beside the quantized one.
void write_sidecar(Context& context, const QuantizeOptions& options);

}  // namespace qsim::cli
