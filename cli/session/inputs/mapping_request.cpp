#include "cli/session/inputs/mapping_request.h"

#include <algorithm>

#include "cli/session/inputs/remedies.h"
#include "cli/session/inputs/shipped_files.h"
#include "core/base/printable.h"
#include "formats/settings/mapping_file.h"
#include "formats/settings/scale_sim_config.h"
#include "report/text_table.h"

namespace qsim::cli {

using compiler::CompileOptions;
using compiler::DramPlan;
using compiler::Objective;
namespace {

// --dataflow, else the dataflow of a configuration of SCALE-Sim.
std::optional<Dataflow> dataflow_of(const MappingOptions& options, const std::string& config_name) {
  if (!options.dataflow.empty()) return dataflow_named(options.dataflow);
  const std::filesystem::path config = find_config(config_name);
  if (!formats::is_scale_sim_config(config)) return std::nullopt;
  return formats::load_scale_sim_config(config).dataflow;
}

bool has_layer(const Graph& graph, const std::string& name) {
  return std::any_of(graph.layers.begin(), graph.layers.end(),
                     [&](const Layer& layer) { return layer.name == name; });
}

// The graph is one layer of the topology, which has an equal part of the budget. The mapping file
// may have the mappings of others, and only the topology's first layer reads what the host wrote.
void limit_to_layer(CompileOptions& result, const formats::Topology& topology, const Graph& graph) {
  const std::string& own = graph.layers.front().name;
  result.budget_seconds /= static_cast<double>(topology.layers.size());
  const auto layer_named = [&](const std::string& name) {
    return std::find_if(topology.layers.begin(), topology.layers.end(),
                        [&](const formats::TopologyLayer& layer) { return layer.name == name; });
  };
  result.host_packs_taps = layer_named(own)->is_first;
  std::erase_if(result.mappings, [&](const LayerMapping& given) {
    return given.layer != own && layer_named(given.layer) != topology.layers.end();
  });
}

Objective objective_of(const std::string& word) {
  if (word == "dram_bytes") return Objective::kBytes;
  if (word == "energy") return Objective::kEnergy;
  if (word == "energy_delay") return Objective::kEdp;
  return Objective::kCycles;
}

DramPlan dram_plan_of(const MappingOptions& options) {
  if (options.dram_plan == "lifetime") return DramPlan::kLifetime;
  return options.dram_plan == "separate" ? DramPlan::kSeparate : DramPlan::kAuto;
}

std::string progress_text(const compiler::MappingProgress& progress) {
  std::string text = "choosing mappings: layer " + std::to_string(progress.index + 1) + " of " +
                     std::to_string(progress.layers) + " (" + echoed(std::string(progress.layer)) +
                     ")";
  if (progress.timed > 0) {
    text += ", " + report::with_thousands(static_cast<std::uint64_t>(progress.timed)) +
            " mappings timed";
  }
  return text;
}

// The mappings of the file, but those of layers that are cut off.
std::vector<LayerMapping> given_mappings(const MappingOptions& options, bool is_cut,
                                         const ArchConfig& arch, const Graph& graph) {
  std::vector<LayerMapping> mappings = mappings_of_file(options, arch);
  if (!is_cut) return mappings;
  std::erase_if(mappings,
                [&](const LayerMapping& given) { return !has_layer(graph, given.layer); });
  return mappings;
}

}  // namespace

CompileOptions search_options(const SearchOptions& options) {
  CompileOptions result;
  result.mapper.objective = objective_of(options.objective);
  result.mapper.slack = options.slack.value_or(result.mapper.slack);
  if (options.mapping_search == "full") result.mapper.search = compiler::MappingSearch::kFull;
  result.budget_seconds = options.mapping_budget.value_or(0);
  if (std::optional<EnergyTable> table = load_energy_table(options)) {
    result.mapper.energy = std::make_shared<const EnergyTable>(*std::move(table));
  }
  return result;
}

std::vector<LayerMapping> mappings_of_file(const SearchOptions& options, const ArchConfig& arch) {
  if (options.mapping.empty()) return {};
  return formats::load_mapping_file(options.mapping, arch);
}

void set_dataflow(CompileOptions& options, const std::string& name) {
  options.mixes_dataflows = name == kAutoDataflow;
  options.dataflow.reset();
  if (!options.mixes_dataflows) options.dataflow = dataflow_named(name);
}

CompileOptions compile_options(Context& context, const NetworkRequest& request,
                               const MappingOptions& options, const ArchConfig& arch,
                               const Graph& graph, const formats::Topology* topology) {
  CompileOptions result = search_options(options);
  result.mixes_dataflows = options.dataflow == kAutoDataflow;
  result.dataflow = dataflow_of(options, request.config);
  result.dram_plan = dram_plan_of(options);
  result.on_progress = [&context](const compiler::MappingProgress& progress) {
    context.progress(progress_text(progress));
  };
  if (!options.mapping.empty()) {
    result.mappings = given_mappings(options, !request.layers.empty(), arch, graph);
  }
  if (topology != nullptr) {
    result.remedies = remedies_for(ModelKind::kTopology, request);
    limit_to_layer(result, *topology, graph);
    return result;
  }
  const std::filesystem::path model =
      find_model(request.model.empty() ? arch.model : request.model);
  result.remedies = remedies_for(model_kind(model), request);
  if (formats::is_topology_file(model))
    limit_to_layer(result, formats::read_topology(model), graph);
  return result;
}

void note_ended_searches(Context& context, const CompileOptions& compiled) {
  const auto ended = std::count_if(compiled.known->begin(), compiled.known->end(),
                                   [](const auto& known) { return !known.second.is_complete; });
  if (ended == 0) return;
  context.note("--mapping-budget ended " + std::to_string(ended) + " of " +
               std::to_string(compiled.known->size()) +
               " searches: their mappings are the best that was found");
}

void write_mappings(Context& context, const std::string& file, const std::string& model,
                    const ArchConfig& arch, std::span<const LayerMapping> mappings) {
  if (!file.empty()) context.print_to(file, formats::mapping_file_yaml(model, arch, mappings));
}

}  // namespace qsim::cli
