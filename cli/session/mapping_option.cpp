#include "cli/session/mapping_option.h"

#include <algorithm>

#include "cli/session/shipped_files.h"
#include "cli/terminal/output_files.h"
#include "compiler/workload/topology_file.h"
#include "files/mapping_file.h"
#include "files/scale_sim_config.h"

namespace qsim {

namespace {

// --dataflow, else the dataflow of a configuration of SCALE-Sim.
std::optional<Dataflow> dataflow_of(const Options& options) {
  if (!options.dataflow.empty()) return dataflow_named(options.dataflow);
  const std::filesystem::path config = find_config(options.config);
  if (!is_scale_sim_config(config)) return std::nullopt;
  return load_scale_sim_config(config).dataflow;
}

bool has_layer(const Graph& graph, const std::string& name) {
  return std::any_of(graph.layers.begin(), graph.layers.end(),
                     [&](const Layer& layer) { return layer.name == name; });
}

// The graph is one layer of the topology. The mapping file may have the mappings of others, and
// only the topology's first layer reads what the host wrote.
void limit_to_layer(CompileOptions& result, const Topology& topology, const Graph& graph) {
  for (const TopologyLayer& layer : topology.layers) {
    if (layer.name == graph.layers.front().name) {
      result.host_packs_taps = layer.is_first;
      continue;
    }
    std::erase_if(result.mappings,
                  [&](const LayerMapping& given) { return given.layer == layer.name; });
  }
}

}  // namespace

CompileOptions compile_options(const Options& options, const ArchConfig& arch, const Graph& graph) {
  CompileOptions result;
  result.dataflow = dataflow_of(options);
  if (!options.mapping.empty()) {
    require_not_written(options, options.mapping, "the mapping file");
    result.mappings = load_mapping_file(options.mapping, arch);
  }
  if (!options.layers.empty()) {
    std::erase_if(result.mappings,
                  [&](const LayerMapping& given) { return !has_layer(graph, given.layer); });
  }
  const std::filesystem::path model =
      find_model(options.model.empty() ? arch.model : options.model);
  if (is_topology_file(model)) limit_to_layer(result, read_topology(model), graph);
  return result;
}

void write_mappings(Context& context, const std::string& model, const ArchConfig& arch,
                    std::span<const LayerMapping> mappings) {
  const std::string& path = context.options().write_mapping;
  if (path.empty()) return;
  context.write_file(path, mapping_file_yaml(model, arch, mappings));
}

}  // namespace qsim
