// Options whose value is one of a few words.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace qsim {

// One of these words, or of the words between commas.
CLI::Validator one_of(const std::vector<std::string>& words);

// An option that takes one of `words`; what `value` has is the default.
CLI::Option* add_word(CLI::App& app, const std::string& name, const std::vector<std::string>& words,
                      std::string& value, const std::string& description);

// An option that names a file.
CLI::Option* add_file(CLI::App& app, const std::string& name, std::string& file,
                      const std::string& description);

}  // namespace qsim
