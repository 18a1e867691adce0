#include "cli/session/inputs/snapped_model.h"

#include "compiler/snap_scales.h"
#include "core/base/printable.h"

namespace qsim::cli {

using compiler::Snapped;
namespace {

Snapped snapped(const Model& model, const ScaleOptions& options) {
  return compiler::snap_scales(model.graph,
                               asked_rounding(options).value_or(RequantizerRounding::kHalfEven));
}

std::string note_text(const Snapped& snapped) {
  if (snapped.channels == 0) return "--snap moves no scale: all are powers of two";
  return "--snap moves the scales of " + std::to_string(snapped.channels) +
         " output channels, of " + std::to_string(snapped.layers) +
         " layers, to powers of two, and quantizes their weights again";
}

}  // namespace

void require_shifts_for_snap(const ScaleOptions& options, const ArchConfig& config) {
  if (!options.snap || !config.is_dyadic()) return;
  throw Error(ExitCode::kUsage, "--snap is for configurations with requantizer: shift; '" +
                                    echoed(config.name) +
                                    "' has requantizer: dyadic, which takes every scale; leave "
                                    "--snap out");
}

std::optional<Graph> snap_model(Context& context, Model& model, const ScaleOptions& options,
                                const ArchConfig& config) {
  require_shifts_for_snap(options, config);
  if (!options.snap) return std::nullopt;
  Snapped result = snapped(model, options);
  context.note(note_text(result));
  std::swap(result.graph, model.graph);
  return std::move(result.graph);
}

std::optional<Graph> snap_model(Model& model, const ScaleOptions& options,
                                const ArchConfig& config) {
  require_shifts_for_snap(options, config);
  if (!options.snap) return std::nullopt;
  Snapped result = snapped(model, options);
  std::swap(result.graph, model.graph);
  return std::move(result.graph);
}

}  // namespace qsim::cli
