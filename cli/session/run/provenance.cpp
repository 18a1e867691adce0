#include "cli/session/run/provenance.h"

#include "cli/build_info.h"
#include "cli/session/inputs/file_hash.h"
#include "cli/session/inputs/shipped_files.h"

namespace qsim::cli {

report::Provenance provenance_of(const std::vector<std::string>& argv,
                                 const NetworkRequest& request, std::uint64_t seed,
                                 const Model& model, const ModelInput& input, bool wants_hashes) {
  report::Provenance provenance;
  provenance.version = build_version();
  provenance.commit = build_commit();
  provenance.argv = argv;
  provenance.seed = seed;
  provenance.rounding = request.rounding;
  provenance.config = request.config;
  provenance.model = model.name;
  provenance.input = input.name;
  if (!wants_hashes) return provenance;
  provenance.config_hash = file_hash(find_config(request.config));
  provenance.model_hash = model.file ? model_hash(model.file) : file_hash(model.path);
  if (!input.path.empty()) provenance.input_hash = file_hash(input.path);
  return provenance;
}

}  // namespace qsim::cli
