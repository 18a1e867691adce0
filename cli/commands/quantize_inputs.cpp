#include "cli/commands/quantize_inputs.h"

#include <filesystem>
#include <set>

#include "cli/session/quantize/quantize_files.h"
#include "compiler/importer/real_importer.h"
#include "files/files.h"
#include "quantize/equalization.h"

namespace qsim {

namespace fs = std::filesystem;

QuantizeInputs read_quantize_inputs(Context& context, const QuantizeOptions& options) {
  const auto held = std::make_shared<const HeldFile>(options.model);
  std::int64_t float_bytes = held->bytes();
  RealImportOptions importing;
  std::set<fs::path> counted;  // many tensors may lie in one file
  importing.on_external = [&](const fs::path& file) {
    if (!counted.insert(file).second) return;
    float_bytes += file_bytes(file);
  };
  RealGraph graph = import_real_onnx(held, importing);
  if (options.equalize) graph = quantize::equalize(graph).graph;
  const std::vector<fs::path> data(options.calibrate.begin(), options.calibrate.end());
  PictureSet pictures(data, picture_form(graph, options.model),
                      [&](const std::string& line) { context.note(line); });
  pictures.require_finite();
  require_files(context, options);
  if (pictures.count() > options.pictures) pictures.sample(options.pictures, options.seed);
  return {std::move(graph), float_bytes, std::move(pictures)};
}

}  // namespace qsim
