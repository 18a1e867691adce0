#include "cli/session/quantize/quantize_files.h"

#include <filesystem>

#include "cli/terminal/output_files.h"
#include "files/files.h"

namespace qsim {

namespace fs = std::filesystem;

namespace {

fs::path sidecar_of(const fs::path& network) {
  return fs::path(network).replace_extension(".yaml");
}

void require_inputs_kept(const Options& options, const PictureSet& pictures) {
  require_not_written(options, options.model, "the model");
  require_not_written(options, sidecar_of(options.model), "the model's sidecar");
  for (const fs::path& file : pictures.files()) require_not_written(options, file, "a picture");
  if (!options.quantize.layers.empty()) {
    require_not_written(options, options.quantize.layers, "the file of --layers");
  }
  if (!options.quantize.scales.empty()) {
    require_not_written(options, options.quantize.scales, "the file of --scales");
  }
}

}  // namespace

void require_files(const Context& context, const Options& options, const PictureSet& pictures) {
  require_inputs_kept(options, pictures);
  context.require_outputs();
  if (fs::exists(sidecar_of(options.model))) {
    context.require_output(sidecar_of(options.program_out));
  }
}

void write_sidecar(Context& context, const Options& options) {
  const fs::path from = sidecar_of(options.model);
  if (!fs::exists(from)) return;
  context.write_file(sidecar_of(options.program_out), read_text_file(from));
}

}  // namespace qsim
