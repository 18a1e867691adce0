// SCALE-Sim topologies on the command line: a list of layers, each a network of its own. A command
// that takes one network takes a topology of which the options leave one layer.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>

#include "cli/session/inputs/model_source.h"
#include "formats/workload/topology.h"

namespace qsim::cli {

// A topology cut to the layers that --layers, or --layer of explain, names, with the batch of
// --batch, if it is given.
struct TopologySource {
  std::string name;  // as the user gave it
  std::filesystem::path path;
  formats::Topology topology;
  formats::Topology file;  // all of its layers
};

// Absent where the model that the options or the config name is not a topology. Throws Error.
std::optional<TopologySource> find_topology(const NetworkRequest& request,
                                            const ArchConfig& config);

// Layer `layer` as a model. Throws Error.
Model layer_model(const TopologySource& source, std::size_t layer, Tensors tensors);

// Fills `model`, which has its kind, name and path; load_model_file() calls it. Throws Error unless
// the options leave one layer.
void load_only_layer(Model& model, const NetworkRequest& request);

// An option that works on one network alone.
struct OptionOfOne {
  bool is_given;
  const char* option;
};
// Throws Error (exit code 2) for the first of them that is given, where `source` has several
// networks.
void require_options_of_several(const TopologySource& source, const NetworkRequest& request,
                                std::initializer_list<OptionOfOne> options);

}  // namespace qsim::cli
