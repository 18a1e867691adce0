#include "cli/session/quantize/quantize_files.h"

#include <filesystem>

#include "cli/terminal/output_files.h"
#include "files/files.h"

namespace qsim {

namespace fs = std::filesystem;

void require_inputs_kept(const Options& options, const PictureSet& pictures) {
  require_not_written(options, options.model, "the model");
  const fs::path sidecar = fs::path(options.model).replace_extension(".yaml");
  require_not_written(options, sidecar, "the model's sidecar");
  for (const fs::path& file : pictures.files()) require_not_written(options, file, "a picture");
  if (!options.quantize.layers.empty()) {
    require_not_written(options, options.quantize.layers, "the file of --layers");
  }
  if (!options.quantize.scales.empty()) {
    require_not_written(options, options.quantize.scales, "the file of --scales");
  }
}

void write_sidecar(Context& context, const Options& options) {
  const fs::path from = fs::path(options.model).replace_extension(".yaml");
  if (!fs::exists(from)) return;
  context.write_file(fs::path(options.program_out).replace_extension(".yaml"),
                     read_text_file(from));
}

}  // namespace qsim
