// --mapping and --write-mapping: mappings that the user gives, and those of a program.
#pragma once

#include <span>
#include <string>

#include "cli/terminal/context.h"
#include "compiler/compile.h"

namespace qsim {

// What the options ask of the compiler. Of a network cut by --layers, and of a layer of a SCALE-Sim
// topology, the file may name layers that are not in `graph`. Throws Error for a file that is not
// as it should be.
CompileOptions compile_options(const Options& options, const ArchConfig& arch, const Graph& graph);

// Writes the file that --write-mapping names, if there is one.
void write_mappings(Context& context, const std::string& model, const ArchConfig& arch,
                    std::span<const LayerMapping> mappings);

}  // namespace qsim
