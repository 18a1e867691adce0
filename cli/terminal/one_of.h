// Options whose value is one of a few words.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace qsim {

// One of these words, or of the words between commas.
CLI::Validator one_of(const std::vector<std::string>& words);

}  // namespace qsim
