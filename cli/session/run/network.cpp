#include "cli/session/run/network.h"

#include "cli/session/inputs/input_source.h"
#include "cli/session/inputs/mapping_request.h"
#include "cli/session/inputs/snapped_model.h"
#include "cli/session/run/graph_cut.h"
#include "cli/session/run/provenance.h"

namespace qsim::cli {

Network import_network(Context& context, const ImportRequest& request, const ArchConfig& config,
                       GoldenSelection& golden) {
  const InputOptions& options = request.input;
  Model model = load_model(request.network, config);
  Network network;
  const auto judge = [&] {
    network.unsnapped = snap_model(context, model, request.network, config);
    network.asked = compile_options(context, request.network, request.mapping, config, model.graph);
    require_memory_for(model.name, model.graph, config, request.need, network.asked);
  };
  if (options.layers.empty()) judge();
  ModelInput input = read_input(request.network, options, config, model, request.no_data);
  network.model = model.name;
  network.provenance = provenance_of(context.argv(), request.network, options.seed, model, input,
                                     request.wants_hashes);
  if (!options.layers.empty()) {
    if (!request.no_data) require_memory_for_golden(model.name, model.graph);
    input.tensor = cut_layers(model, std::move(input.tensor), options.layers,
                              request.no_data ? nullptr : &golden);
    judge();
  }
  network.graph = std::move(model.graph);
  network.output = output_form(network.graph);
  network.input = std::move(input.tensor);
  if (model.sidecar) network.labels = std::move(model.sidecar->labels);
  return network;
}

}  // namespace qsim::cli
