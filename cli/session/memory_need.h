// How much memory a command will need for a network, judged before it takes any of it.
#pragma once

#include <cstdint>
#include <string>

#include "cli/terminal/options.h"
#include "core/arch_config.h"
#include "core/graph.h"

namespace qsim {

// The formula of docs/reference/limits.md: an upper bound of what the whole process has in memory
// at any time, near enough to refuse only what would hardly fit. `graph` is what will be compiled.
// Throws Error (exit code 4) where the command has a program and the accelerator cannot run it.
std::int64_t memory_need_bytes(const Graph& graph, const ArchConfig& arch, const Options& options);

// Throws Error (exit code 3) naming the model when that is more than there is. `more_bytes` are of
// what is not in the formula.
void require_memory_for(const std::string& model, const Graph& graph, const ArchConfig& arch,
                        const Options& options, std::int64_t more_bytes = 0);

// The same for golden alone, keeping the last layer: what runs before a cut by --layers.
void require_memory_for_golden(const std::string& model, const Graph& graph,
                               const Options& options);

}  // namespace qsim
