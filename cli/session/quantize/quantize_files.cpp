#include "cli/session/quantize/quantize_files.h"

#include <filesystem>

#include "formats/files/files.h"
#include "formats/settings/sidecar.h"

namespace qsim::cli {

using formats::sidecar_path;

namespace fs = std::filesystem;

void require_files(const Context& context, const QuantizeOptions& options) {
  context.require_outputs();
  if (formats::is_there(sidecar_path(options.model))) {
    context.require_output(sidecar_path(options.out));
  }
}

void write_sidecar(Context& context, const QuantizeOptions& options) {
  const fs::path from = sidecar_path(options.model);
  if (!formats::is_there(from)) return;
  context.write_file(sidecar_path(options.out), formats::read_text_file(from));
}

}  // namespace qsim::cli
