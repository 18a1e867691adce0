// The engines that a campaign compares, and the configurations by name.
#pragma once

#include "tests/rtl/programs/differential.h"
#include "tests/rtl/programs/verify_options.h"

namespace qsim {

// Interpreter, SystemC, recurrence, and unless --no-rtl the RTL, as the options say. Once a
// process.
std::vector<Witness> make_witnesses(const VerifyOptions& options);

// A YAML file, or the name of one in configs/ or beside the tests. Throws Error.
ArchConfig named_config(const std::string& name);

// Builds the RTL models that the options need, so that parallel jobs find them.
void prepare_models(const VerifyOptions& options, const std::vector<ArchConfig>& configs);

}  // namespace qsim
