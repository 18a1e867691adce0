// `qsim quantize` of a float network that a Graph does not hold: its nodes as they are, with
// QuantizeLinear and DequantizeLinear around what runs on levels. The array runs parts of what it
// writes, a host the rest.
#pragma once

#include "cli/session/quantize/quantize_options.h"
#include "cli/terminal/context.h"
#include "core/base/error.h"

namespace qsim::cli {

// Writes the network, and says what `run` will put on the host before it does. `refusal` says why a
// Graph does not hold it. Throws Error (exit code 2) for options that only a Graph's network has.
ExitCode quantize_hosted(Context& context, const QuantizeOptions& options, const Error& refusal);

// The line that ends `qsim quantize`: how to run what it has written.
std::string next_command(const QuantizeOptions& options, const std::string& input);

}  // namespace qsim::cli
