#include "cli/session/provenance.h"

#include "cli/build_info.h"

namespace qsim {

Provenance provenance_of(const std::vector<std::string>& argv, const Options& options,
                         const Network& network) {
  Provenance provenance;
  provenance.version = build_version();
  provenance.commit = build_commit();
  provenance.argv = argv;
  provenance.seed = options.seed;
  provenance.config = options.config;
  provenance.config_hash = network.hashes.config;
  provenance.model = network.model.name;
  provenance.model_hash = network.hashes.model;
  provenance.input = network.input_name;
  provenance.input_hash = network.hashes.input;
  return provenance;
}

}  // namespace qsim
