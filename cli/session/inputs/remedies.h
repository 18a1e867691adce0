// What the user can do where the compiler refuses a layer.
#pragma once

#include "cli/session/inputs/model_source.h"
#include "compiler/compile.h"

namespace qsim::cli {

// For a command with --config, and with --snap, which ONNX models take.
compiler::Remedies remedies_for(ModelKind kind, const ScaleOptions& options);
// For a command with --config but without --snap.
compiler::Remedies remedies_without_snap();

}  // namespace qsim::cli
