// The options of `qsim eval`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace qsim {

struct Options;

// Of --engines.
inline constexpr const char* kEvalEngineNames[] = {"golden", "systemc", "float", "fake"};

struct EvalOptions {
  std::vector<std::string> data;     // paths
  std::vector<std::string> engines;  // empty: those that a network can have without more
  std::string float_model;           // "" for none
  std::string against;               // "" for none
  std::optional<std::int64_t> pictures;
};

void add_eval_options(CLI::App& app, Options& options);

// Throws Error (exit code 2) for an engine that is named twice.
void check_eval_options(const Options& options);

}  // namespace qsim
