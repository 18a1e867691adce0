#include "cli/session/run/network.h"

#include "cli/session/inputs/input_source.h"
#include "cli/session/inputs/mapping_request.h"
#include "cli/session/inputs/snapped_model.h"
#include "cli/session/run/graph_cut.h"
#include "cli/session/run/provenance.h"
#include "formats/traces/npy.h"

namespace qsim::cli {
namespace {

// A file that fixes its batch runs on an input of fewer pictures as well.
void take_fewer_pictures(Context& context, const ImportRequest& request, const ArchConfig& config,
                         Model& model) {
  const std::int64_t batch = model.graph.input_value().shape.batch;
  if (batch == 1 || request.network.batch || model.kind != ModelKind::kOnnx) return;
  const InputFile file = find_input_file(request.network, request.input.input, config, model);
  if (file.kind != InputKind::kNpy) return;
  const Shape shape = formats::read_npy(file.path).shape;
  if (shape.empty() || shape[0] < 1 || shape[0] >= batch) return;
  context.note(file.path.string() + ": batch " + std::to_string(shape[0]) + "; the model fixes " +
               std::to_string(batch) + ", and runs with " + std::to_string(shape[0]));
  set_batch(model.graph, shape[0]);
}

}  // namespace

Network import_network(Context& context, const ImportRequest& request, const ArchConfig& config,
                       GoldenSelection& golden) {
  const InputOptions& options = request.input;
  Model model = load_model(request.network, config);
  if (!request.no_data) take_fewer_pictures(context, request, config, model);
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
