// `--layers`: a part of a network as a network of its own.
#pragma once

#include <string>

#include "cli/session/engines/golden_backend.h"
#include "cli/session/inputs/model_source.h"

namespace qsim {

// Cuts model.graph to the chain from the first to the last layer whose name matches the shell
// pattern, with the Flatten before them, and the ReLU and max-pool after them, that run fused with
// them. The result is the input of the chain: golden's tensor of the layer before it, or zeros when
// no data is wanted (`golden` is null). Throws Error listing the names when none matches.
Tensor cut_layers(Model& model, Tensor input, const std::string& pattern, GoldenSelection* golden);

}  // namespace qsim
