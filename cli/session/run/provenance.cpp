#include "cli/session/run/provenance.h"

#include "cli/build_info.h"
#include "cli/session/inputs/file_hash.h"
#include "cli/session/inputs/shipped_files.h"

namespace qsim {

Provenance provenance_of(const std::vector<std::string>& argv, const Options& options,
                         const Model& model, const ModelInput& input) {
  Provenance provenance;
  provenance.version = build_version();
  provenance.commit = build_commit();
  provenance.argv = argv;
  provenance.seed = options.seed;
  provenance.rounding = options.rounding;
  provenance.config = options.config;
  provenance.model = model.name;
  provenance.input = input.name;
  if (options.json.empty() && options.out.empty() && options.report.empty()) return provenance;
  provenance.config_hash = file_hash(find_config(options.config));
  provenance.model_hash = model.file ? model_hash(model.file) : file_hash(model.path);
  if (!input.path.empty()) provenance.input_hash = file_hash(input.path);
  return provenance;
}

}  // namespace qsim
