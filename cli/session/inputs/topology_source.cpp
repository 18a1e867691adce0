#include "cli/session/inputs/topology_source.h"

#include <fnmatch.h>

#include "cli/session/inputs/named_layer.h"
#include "cli/session/inputs/shipped_files.h"
#include "core/printable.h"

namespace qsim {
namespace {

std::string names_of(const Topology& topology) {
  std::string list;
  for (const TopologyLayer& layer : topology.layers) {
    list += (list.empty() ? "" : ", ") + echoed(layer.name);
  }
  return list;
}

bool is_chosen(const std::string& name, const Options& options) {
  if (!options.layer.empty()) return name == options.layer;
  return options.layers.empty() || fnmatch(options.layers.c_str(), name.c_str(), 0) == 0;
}

// How the user of this command takes one layer.
std::string choice_of_layer(CommandName command) {
  switch (command) {
    case CommandName::kExplain:
      return "name one with --layer";
    case CommandName::kRun:
    case CommandName::kVerify:
    case CommandName::kExportVectors:
      return "name one with --layers";
    default:
      return "take a topology of one layer";
  }
}

// Throws Error: the options name no layer of the file.
void refuse_choice(const TopologySource& source, const Options& options) {
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
                             const Options& options) {
  require_onnx_options(options, name, model_kind_name(ModelKind::kTopology));
  TopologySource source{name, path, read_topology(path), {}};
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

std::optional<TopologySource> find_topology(const Options& options, const ArchConfig& config) {
  const std::string& name = options.model.empty() ? config.model : options.model;
  const std::filesystem::path path = options.model.empty()
                                         ? find_model(name, "config '" + config.name + "': model")
                                         : find_model(name);
  if (!is_topology_file(path)) return std::nullopt;
  return open_topology(path, name, options);
}

Model layer_model(const TopologySource& source, std::size_t layer, const Options& options) {
  Workload workload = layer_workload(source.topology, layer, tensors_for(options));
  Model model;
  model.kind = ModelKind::kTopology;
  model.name = source.name;
  model.path = source.path;
  model.graph = std::move(workload.graph);
  model.own_input = std::move(workload.input);
  return model;
}

void load_only_layer(Model& model, std::optional<std::int64_t> batch, const Options& options) {
  Options one = options;
  one.batch = batch;
  const TopologySource source = open_topology(model.path, model.name, one);
  const std::size_t layers = source.topology.layers.size();
  if (layers > 1) {
    throw Error(ExitCode::kUsage,
                "'" + echoed(model.name) + "' is a topology of " + std::to_string(layers) +
                    " layers, each a network of its own, and qsim takes one of them here: " +
                    choice_of_layer(options.command) + ". Its layers: " + names_of(source.file));
  }
  model = layer_model(source, 0, one);
}

void require_options_of_several(const TopologySource& source, const Options& options) {
  if (source.topology.layers.size() == 1) return;
  const auto needs_one = [&](bool given, const std::string& option) {
    if (!given) return;
    throw Error(ExitCode::kUsage,
                option + " works on one network; '" + echoed(source.name) + "' is a topology of " +
                    std::to_string(source.topology.layers.size()) +
                    " layers, each a network of its own: " + choice_of_layer(options.command));
  };
  needs_one(!options.input.empty(), "--input");
  needs_one(options.index.has_value(), "--index");
  needs_one(options.images.has_value(), "--images");
  needs_one(!options.trace.empty(), "--trace");
  needs_one(!options.dump_layers.empty(), "--dump-layers");
  needs_one(!options.program_out.empty(), "--out");
}

}  // namespace qsim
