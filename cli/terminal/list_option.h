// Options that take several values.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace qsim {

// Declares an option that is given once for each value, or once with commas between the values.
// `allowed` are the values that it may have; none: any. Parsing throws CLI::ValidationError for an
// empty value and for one that is not allowed.
CLI::Option* add_list(CLI::App& app, const std::string& name, std::vector<std::string>& values,
                      const std::string& description, const std::vector<std::string>& allowed = {});

// One that is given once for each value, whose commas belong to it.
CLI::Option* add_repeated(CLI::App& app, const std::string& name, std::vector<std::string>& values,
                          const std::string& description);

}  // namespace qsim
