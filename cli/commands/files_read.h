// Every file that a command will read, so that no output takes its place (the one check of it is
// require_kept() in cli/terminal/output_files.h): what the declarations say, with its companions.
#pragma once

#include <vector>

#include "cli/terminal/output_files.h"

namespace qsim::cli {

// The files that the options name, and their companions: a model's sidecar and external data, the
// arrays of a layer trace, the labels beside an array, the pictures of a folder, what a
// configuration names where the options do not. Files that are absent or not what they should be
// are in the list without companions: the command says what is wrong with them. A pipe is not
// opened.
std::vector<ReadFile> files_read(const Declarations& declared);

}  // namespace qsim::cli
