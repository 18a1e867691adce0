#include "sim/cli/network.h"

#include "sim/cli/build_info.h"
#include "sim/cli/file_hash.h"
#include "sim/cli/graph_cut.h"
#include "sim/cli/host_layout.h"
#include "sim/cli/shipped_files.h"

namespace qsim {
namespace {

constexpr std::size_t kTopClasses = 5;

}  // namespace

Network import_network(const Options& options, const ArchConfig& config) {
  Network network;
  network.model = load_model(options, config);
  Model& model = network.model;
  if (options.no_data && options.input.empty()) {
    network.input = Tensor(model.graph.input.dtype, model.graph.input.shape.nhwc());
  } else {
    const InputSource source(options, config, model);
    network.input_name = source.name();
    network.input_path = source.path();
    network.input = source.at(model, 0);
  }
  model.own_input.reset();
  if (!options.layers.empty()) {
    network.input = cut_layers(model, std::move(network.input), options.layers, !options.no_data);
  }
  return network;
}

Provenance provenance_of(const std::vector<std::string>& argv, const Options& options,
                         const Network& network) {
  Provenance provenance;
  provenance.version = build_version();
  provenance.commit = build_commit();
  provenance.argv = argv;
  provenance.seed = options.seed;
  provenance.config = options.config;
  provenance.config_hash = file_hash(find_config(options.config));
  provenance.model = network.model.name;
  provenance.model_hash = file_hash(network.model.path);
  provenance.input = network.input_name;
  if (!network.input_path.empty()) provenance.input_hash = file_hash(network.input_path);
  return provenance;
}

std::vector<OutputClass> classes_of(const Network& network, const Tensor& ofmap) {
  const Value& output = network.model.graph.layers.back().output;
  if (output.shape.height * output.shape.width != 1 || output.shape.channels < 2) return {};
  if (ofmap.shape != output.shape.nhwc()) {
    return {};  // a Flatten behind the last ofmap: a picture, not classes
  }
  const std::vector<std::string> labels =
      network.model.sidecar ? network.model.sidecar->labels : std::vector<std::string>{};
  return top_classes(picture_scores(ofmap, output, 0), output.scale_exponent.has_value(), labels,
                     kTopClasses);
}

}  // namespace qsim
