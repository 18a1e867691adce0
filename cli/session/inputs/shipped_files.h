// Finds what a user names: a path, or the name of a shipped config, energy table, model, workload
// or picture. It searches in this order: the path itself, ../share/qsim beside the installed
// executable, and the source tree that qsim was built from.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace qsim::cli {

// Each throws Error (exit code 3) saying what was searched and the nearest shipped name; `kind` is
// what the message calls it. A text with a slash is a path and returned as it is.
std::filesystem::path find_config(const std::string& name);
std::filesystem::path find_model(const std::string& name, const std::string& kind = "model");
std::filesystem::path find_input(const std::string& name, const std::string& kind = "input");
std::filesystem::path find_energy_table(const std::string& name);
// A name that both have is the config's.
std::filesystem::path find_config_or_model(const std::string& name);

// Every name that the functions above find without a path, sorted.
std::vector<std::string> shipped_configs();
std::vector<std::string> shipped_models();
std::vector<std::string> shipped_inputs();
std::vector<std::string> shipped_energy_tables();

// The folders that are searched for shipped files; those that exist.
std::vector<std::filesystem::path> shipped_roots();

}  // namespace qsim::cli
