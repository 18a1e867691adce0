// What the user can do where the compiler refuses a layer.
#pragma once

#include "cli/session/inputs/model_source.h"
#include "compiler/compile.h"

namespace qsim {

// For a command with --config, and with --snap, which ONNX models take.
Remedies remedies_for(ModelKind kind, const ScaleOptions& options);
// For a command with --config but without --snap.
Remedies remedies_without_snap();

}  // namespace qsim
