// Layers that an option names: `explain --layer`, `run --trace-layers`.
#pragma once

#include <string>

#include "core/machine/program.h"
#include "core/network/graph.h"

namespace qsim::cli {

// The number of the graph layer of that name. `option` ("--layer") and `model` are for the message.
// Throws Error (exit code 3) with the names that there are; of those that run in the program layer
// of another name, where there is a program, with that name too.
std::size_t layer_named(const std::string& name, const std::string& option,
                        const std::string& model, const Graph& graph,
                        const Program* program = nullptr);

// The program layer that a graph layer runs in.
std::size_t program_layer_of(std::size_t graph_layer, const Program& program);

// For a message on a pattern that matches no name: what [ means in it; "" where it has none.
std::string hint_on_brackets(const std::string& pattern);

}  // namespace qsim::cli
