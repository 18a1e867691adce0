#include "cli/session/inputs/topology_source.h"

#include <fnmatch.h>

#include "cli/session/inputs/named_layer.h"
#include "cli/session/inputs/shipped_files.h"
#include "core/base/printable.h"

namespace qsim::cli {

using formats::TopologyLayer;
namespace {

std::string names_of(const formats::Topology& topology) {
  std::string list;
  for (const TopologyLayer& layer : topology.layers) {
    list += (list.empty() ? "" : ", ") + echoed(layer.name);
  }
  return list;
}

bool is_chosen(const std::string& name, const NetworkRequest& options) {
  if (!options.layer.empty()) return name == options.layer;
  return options.layers.empty() || fnmatch(options.layers.c_str(), name.c_str(), 0) == 0;
}

// Throws Error: the options name no layer of the file.
void refuse_choice(const TopologySource& source, const NetworkRequest& options) {
  if (options.layer.empty()) {
    throw_bad_input("--layers '" + options.layers + "' matches no layer of '" +
                    echoed(source.name) + "'" + hint_on_brackets(options.layers) +
                    "; its layers: " + names_of(source.file));
  }
  Graph names;  // no network: what layer_named() looks through
  for (const TopologyLayer& layer : source.file.layers) append(names, layer.name, Relu{}, {});
  layer_named(options.layer, "--layer", source.name, names);
}

TopologySource open_topology(const std::filesystem::path& path, const std::string& name,
                             const NetworkRequest& options) {
  require_onnx_options(options, name, model_kind_name(ModelKind::kTopology));
  TopologySource source{name, path, formats::read_topology(path), {}};
  source.file = source.topology;
  std::erase_if(source.topology.layers,
                [&](const TopologyLayer& layer) { return !is_chosen(layer.name, options); });
  if (source.topology.layers.empty()) refuse_choice(source, options);
  if (options.batch) {
    for (TopologyLayer& layer : source.topology.layers) layer.input.batch = *options.batch;
  }
  return source;
}

}  // namespace

std::optional<TopologySource> find_topology(const NetworkRequest& options,
                                            const ArchConfig& config) {
  const std::string& name = options.model.empty() ? config.model : options.model;
  const std::filesystem::path path = options.model.empty()
                                         ? find_model(name, "config '" + config.name + "': model")
                                         : find_model(name);
  if (!formats::is_topology_file(path)) return std::nullopt;
  return open_topology(path, name, options);
}

Model layer_model(const TopologySource& source, std::size_t layer, Tensors tensors) {
  formats::Workload workload = formats::layer_workload(source.topology, layer, tensors);
  Model model;
  model.kind = ModelKind::kTopology;
  model.name = source.name;
  model.path = source.path;
  model.graph = std::move(workload.graph);
  model.own_input = std::move(workload.input);
  return model;
}

void load_only_layer(Model& model, const NetworkRequest& request) {
  const TopologySource source = open_topology(model.path, model.name, request);
  const std::size_t layers = source.topology.layers.size();
  if (layers > 1) {
    throw Error(ExitCode::kUsage,
                "'" + echoed(model.name) + "' is a topology of " + std::to_string(layers) +
                    " layers, each a network of its own, and qsim takes one of them here: " +
                    request.way_to_one + ". Its layers: " + names_of(source.file));
  }
  model = layer_model(source, 0, request.tensors);
}

void require_options_of_several(const TopologySource& source, const NetworkRequest& request,
                                std::initializer_list<OptionOfOne> options) {
  if (source.topology.layers.size() == 1) return;
  for (const OptionOfOne& one : options) {
    if (!one.is_given) continue;
    throw Error(ExitCode::kUsage, std::string(one.option) + " works on one network; '" +
                                      echoed(source.name) + "' is a topology of " +
                                      std::to_string(source.topology.layers.size()) +
                                      " layers, each a network of its own: " + request.way_to_one);
  }
}

}  // namespace qsim::cli
