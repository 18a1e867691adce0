#include "cli/commands/quantize_inputs.h"

#include <filesystem>
#include <set>

#include "cli/session/quantize/quantize_files.h"
#include "formats/files/files.h"
#include "formats/onnx/importer/real_importer.h"
#include "quantize/equalization.h"

namespace qsim::cli {

namespace fs = std::filesystem;

quantize::Corrections corrections_of(const QuantizeOptions& options) {
  using quantize::WeightRounding;
  quantize::Corrections corrections;
  for (const auto rounding : {WeightRounding::kLearned, WeightRounding::kGptq}) {
    const bool is_asked = quantize::weight_rounding_name(rounding) == options.weight_rounding;
    if (is_asked) corrections.rounding = rounding;
  }
  corrections.bias = options.bias_correction;
  corrections.seed = options.seed;
  return corrections;
}

bool has_corrections(const QuantizeOptions& options) {
  const quantize::Corrections corrections = corrections_of(options);
  return corrections.bias || corrections.rounding != quantize::WeightRounding::kNearest;
}

quantize::CalibrationPictures calibration_of(PictureSet& pictures, golden::ThreadTeam& team) {
  return {pictures.count(), [&](std::int64_t first, std::int64_t count) {
            return pictures.read(first, count, team);
          }};
}

QuantizeInputs read_quantize_inputs(Context& context, const QuantizeOptions& options) {
  const auto held = std::make_shared<const formats::HeldFile>(options.model);
  std::int64_t float_bytes = held->bytes();
  formats::RealImportOptions importing;
  std::set<fs::path> counted;  // many tensors may lie in one file
  importing.on_external = [&](const fs::path& file) {
    if (!counted.insert(file).second) return;
    float_bytes += formats::file_bytes(file);
  };
  Graph graph = formats::import_real_onnx(held, importing);
  if (options.equalize) graph = quantize::equalize(graph).graph;
  const std::vector<fs::path> data(options.calibrate.begin(), options.calibrate.end());
  PictureSet pictures(data, picture_form(graph, options.model), context.notes());
  pictures.require_finite();
  require_files(context, options);
  if (pictures.count() > options.pictures) pictures.sample(options.pictures, options.seed);
  return {std::move(graph), float_bytes, std::move(pictures)};
}

}  // namespace qsim::cli
