// --fail-if of `run` and `profile`: the conditions, and the results that they are about.
#pragma once

#include <vector>

#include "cli/terminal/declarations.h"
#include "report/conditions/condition.h"

namespace qsim::cli {

// The conditions, with the results that they compare with: read before the work, so that a wrong
// condition or file is an error before a long run.
struct Conditions {
  std::vector<report::Condition> list;
  std::vector<report::ResultsFile> base;
  bool is_auto = false;  // the run is of --dataflow auto
};

// Throws Error: exit code 2 for a text that is not a condition and for one about energy without
// --energy, 3 for a file that cannot be read.
Conditions load_conditions(const Words& texts, bool has_energy, bool is_auto = false);

// The files that the conditions name; a text that is not a condition names none.
std::vector<std::string> condition_files(const Words& texts);

// Throws Error (exit code 6) where a condition is true. The run must have times; its point is that
// of a profile with the same options.
void require_conditions(const Conditions& conditions, const report::RunReport& report);

}  // namespace qsim::cli
