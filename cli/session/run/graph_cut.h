// `--layers`: a part of a network as a network of its own.
#pragma once

#include <string>

#include "cli/session/engines/golden_backend.h"
#include "cli/session/inputs/model_source.h"

namespace qsim::cli {

// Cuts model.graph to the layers from the first to the last one whose name matches the shell
// pattern, with the Flatten before them, and the ReLU and max-pool after them, that run fused with
// them. The result is the input of the part: golden's tensor, or zeros when no data is wanted
// (`golden` is null). Throws Error listing the names when none matches, and where the part reads
// more than one tensor from outside, or has an output that is not its last layer's.
Tensor cut_layers(Model& model, Tensor input, const std::string& pattern, GoldenSelection* golden);

}  // namespace qsim::cli
