// `--snap`: the model with scales that are powers of two.
#pragma once

#include <optional>

#include "cli/session/inputs/model_source.h"

namespace qsim::cli {

// Throws Error (exit code 2) where --snap is given and the accelerator takes every scale.
void require_shifts_for_snap(const ScaleOptions& options, const ArchConfig& config);

// With --snap: snaps the model's graph (compiler/snap_scales.h) with the rounding that --rounding
// names, else half_even, and returns the graph as it was. Without --snap: nothing. The first form
// notes what was moved. Throws Error (exit code 2) as require_shifts_for_snap().
std::optional<Graph> snap_model(Context& context, Model& model, const ScaleOptions& options,
                                const ArchConfig& config);
std::optional<Graph> snap_model(Model& model, const ScaleOptions& options,
                                const ArchConfig& config);

}  // namespace qsim::cli
