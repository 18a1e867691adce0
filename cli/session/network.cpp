#include "cli/session/network.h"

#include "cli/session/file_hash.h"
#include "cli/session/graph_cut.h"
#include "cli/session/memory_need.h"
#include "cli/session/shipped_files.h"

namespace qsim {
namespace {

FileHashes hashes_of(const Options& options, const Network& network) {
  if (options.json.empty() && options.out.empty()) return {};
  const Model& model = network.model;
  return {.config = file_hash(find_config(options.config)),
          .model = model.file ? file_hash(*model.file) : file_hash(model.path),
          .input = network.input_path.empty() ? "" : file_hash(network.input_path)};
}

}  // namespace

Network import_network(const Options& options, const ArchConfig& config, GoldenSelection& golden) {
  Network network;
  network.model = load_model(options, config);
  Model& model = network.model;
  model.recorded.clear();  // is for `verify`
  const auto judge = [&] { require_memory_for(model.name, model.graph, config, options); };
  if (options.layers.empty()) {
    judge();
  } else {
    require_memory_for_golden(model.name, model.graph, options);  // up to the cut
  }
  if (options.no_data && options.input.empty()) {
    network.input = Tensor(model.graph.input.dtype, model.graph.input.shape.nhwc());
  } else {
    const InputSource source(options, config, model);
    network.input_name = source.name();
    network.input_path = source.path();
    network.input = source.at(model, 0);
  }
  model.own_input.reset();
  network.hashes = hashes_of(options, network);  // before golden works for --layers
  if (!options.layers.empty()) {
    network.input = cut_layers(model, std::move(network.input), options.layers,
                               options.no_data ? nullptr : &golden);
    judge();
  }
  return network;
}

}  // namespace qsim
