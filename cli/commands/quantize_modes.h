// `qsim quantize --mode weight_only|dynamic|fake`.
#pragma once

#include "cli/session/quantize/quantize_options.h"
#include "cli/terminal/context.h"
#include "core/base/error.h"

namespace qsim::cli {

ExitCode quantize_in_mode(Context& context, const QuantizeOptions& options);

}  // namespace qsim::cli
