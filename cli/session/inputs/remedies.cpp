#include "cli/session/inputs/remedies.h"

#include "cli/session/inputs/shipped_files.h"
#include "formats/settings/arch_config_file.h"
#include "formats/settings/scale_sim_config.h"

namespace qsim::cli {
namespace {

// The name of the shipped configuration that is `arch` with requantizer: dyadic; "" for none.
std::string shipped_dyadic(const ArchConfig& arch) {
  ArchConfig wanted = arch;
  wanted.requantizer = RequantizerKind::kDyadic;
  for (const std::string& name : shipped_configs()) {
    const std::filesystem::path path = find_config(name);
    if (formats::is_scale_sim_config(path)) continue;
    wanted.name = formats::load_arch_config(path).name;
    if (formats::load_arch_config(path) == wanted) return name;
  }
  return "";
}

}  // namespace

compiler::Remedies remedies_for(ModelKind kind, const ScaleOptions& options) {
  compiler::Remedies remedies = remedies_without_snap();
  remedies.may_snap = kind == ModelKind::kOnnx && !options.snap;
  return remedies;
}

compiler::Remedies remedies_without_snap() { return {false, shipped_dyadic}; }

}  // namespace qsim::cli
