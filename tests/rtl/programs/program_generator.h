// Random programs: legal but arbitrary commands, sizes, addresses, tokens and values. What every
// engine must run alike, whether a compiler would emit it or not.
#pragma once

#include "core/machine/program.h"
#include "tests/rtl/programs/program_plan.h"

namespace qsim {

struct RandomCase {
  std::string name;  // config and seed, or the file that it came from
  Program program;
  Tensor input;
};

// Throws InternalError naming the seed when the verifier refuses what was made.
RandomCase make_random_case(const ArchConfig& arch, std::uint64_t seed);

// The same for a plan, "" for a legal program.
struct BuiltCase {
  RandomCase made;
  std::string violation;  // the verifier's first
};
BuiltCase build_case(const ProgramPlan& plan, const std::string& name);

}  // namespace qsim
