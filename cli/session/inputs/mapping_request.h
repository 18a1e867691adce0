// What the options of how layers are mapped (cli/terminal/shared_options.h) ask of the compiler,
// and the mappings of a program as --write-mapping wants them. It reads the files that they name;
// how they are spelled and what they exclude is theirs.
#pragma once

#include <span>
#include <string>

#include "cli/session/inputs/model_source.h"
#include "compiler/compile.h"
#include "formats/workload/topology_file.h"

namespace qsim::cli {

// What the options ask of the compiler. The mapping file may name layers that are not in `graph`
// where --layers cuts the network and for a layer of a SCALE-Sim topology. Throws Error for a
// malformed mapping file or energy table. The searches tell the context how far they are, so it
// must outlive the result. `topology` is the file that the layer is from, where it is read already.
compiler::CompileOptions compile_options(Context& context, const NetworkRequest& request,
                                         const MappingOptions& options, const ArchConfig& arch,
                                         const Graph& graph,
                                         const formats::Topology* topology = nullptr);

// What the options ask of the search alone: objective, slack, energies, kind and budget.
compiler::CompileOptions search_options(const SearchOptions& options);
// The mappings of the file that --mapping names, none without it. Throws Error for a file that is
// not as it should be, or is of another array than `arch` has.
std::vector<LayerMapping> mappings_of_file(const SearchOptions& options, const ArchConfig& arch);
// The dataflow of all layers: a name of --dataflow, or auto.
void set_dataflow(compiler::CompileOptions& options, const std::string& name);

// A note where --mapping-budget ended searches of a compilation with these options.
void note_ended_searches(Context& context, const compiler::CompileOptions& compiled);

// Writes the file that --write-mapping names, if there is one; - is stdout.
void write_mappings(Context& context, const std::string& file, const std::string& model,
                    const ArchConfig& arch, std::span<const LayerMapping> mappings);

}  // namespace qsim::cli
