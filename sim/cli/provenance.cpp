#include "sim/cli/provenance.h"

#include "sim/cli/build_info.h"
#include "sim/cli/file_hash.h"
#include "sim/cli/shipped_files.h"

namespace qsim {

Provenance provenance_of(const std::vector<std::string>& argv, const Options& options,
                         const Network& network) {
  Provenance provenance;
  provenance.version = build_version();
  provenance.commit = build_commit();
  provenance.argv = argv;
  provenance.seed = options.seed;
  provenance.config = options.config;
  provenance.config_hash = file_hash(find_config(options.config));
  provenance.model = network.model.name;
  const Model& model = network.model;
  provenance.model_hash = model.file ? file_hash(*model.file) : file_hash(model.path);
  provenance.input = network.input_name;
  if (!network.input_path.empty()) provenance.input_hash = file_hash(network.input_path);
  return provenance;
}

}  // namespace qsim
