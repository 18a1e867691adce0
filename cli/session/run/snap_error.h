// What `--snap` costs: golden's ofmaps of the snapped network against those of the file's.
#pragma once

#include "cli/session/engines/golden_backend.h"
#include "report/run_report.h"

namespace qsim::cli {

// Runs both on `input` (NHWC in the input's dtype). The graphs have the same layers and tensors.
report::SnapError snap_error(const Graph& snapped, const Graph& unsnapped, const Tensor& input,
                             GoldenSelection& golden);

}  // namespace qsim::cli
