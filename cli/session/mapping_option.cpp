#include "cli/session/mapping_option.h"

#include <algorithm>

#include "cli/terminal/output_files.h"
#include "files/mapping_file.h"

namespace qsim {

CompileOptions compile_options(const Options& options, const ArchConfig& arch, const Graph& graph) {
  CompileOptions result;
  if (!options.dataflow.empty()) result.dataflow = dataflow_named(options.dataflow);
  if (options.mapping.empty()) return result;
  require_not_written(options, options.mapping, "the mapping file");
  result.mappings = load_mapping_file(options.mapping, arch);
  if (options.layers.empty()) return result;
  std::erase_if(result.mappings, [&](const LayerMapping& given) {
    return std::none_of(graph.layers.begin(), graph.layers.end(),
                        [&](const Layer& layer) { return layer.name == given.layer; });
  });
  return result;
}

void write_mappings(Context& context, const std::string& model, const ArchConfig& arch,
                    std::span<const LayerMapping> mappings) {
  const std::string& path = context.options().write_mapping;
  if (path.empty()) return;
  context.write_file(path, mapping_file_yaml(model, arch, mappings));
}

}  // namespace qsim
