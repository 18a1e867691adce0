#include "cli/session/profile/network_time.h"

#include <algorithm>

#include "cli/session/inputs/file_hash.h"
#include "cli/session/inputs/shipped_files.h"
#include "cli/session/inputs/snapped_model.h"
#include "cli/session/inputs/topology_source.h"
#include "cli/terminal/output_files.h"
#include "compiler/workload/workload.h"
#include "core/command_streams.h"
#include "core/graph_shapes.h"
#include "core/printable.h"
#include "files/memory.h"
#include "report/run_sum.h"
#include "timing/program_times.h"

namespace qsim {
namespace {

std::vector<ModelShapes::Part> parts_of_topology(const std::string& name, const Options& options,
                                                 const ArchConfig& config) {
  Options one = options;
  one.model = name;
  const std::optional<TopologySource> source = find_topology(one, config);
  QSIM_CHECK(source.has_value(), name + " is a topology");
  std::vector<ModelShapes::Part> parts;
  for (std::size_t i = 0; i < source->topology.layers.size(); ++i) {
    parts.push_back({layer_model(*source, i, one).graph, source->topology.layers[i].is_first});
  }
  return parts;
}

// Every mapping is of a layer of some part; of a network of one part the compiler says so.
void require_layers(const ModelShapes& model, const std::vector<LayerMapping>& mappings) {
  std::vector<std::string_view> names;
  for (const ModelShapes::Part& part : model.parts) {
    for (const Layer& layer : part.graph.layers) names.push_back(layer.name);
  }
  for (const LayerMapping& given : mappings) {
    if (std::find(names.begin(), names.end(), given.layer) != names.end()) continue;
    throw_bad_input(given.place + ": the program has no layer '" + echoed(given.layer) + "'");
  }
}

// Of one part of a network: the mappings that are of its layers.
CompileOptions options_of(const ModelShapes::Part& part, const CompileOptions& options,
                          bool is_only) {
  CompileOptions result = options;
  result.host_packs_taps = part.host_packs_taps;
  if (is_only) return result;
  std::erase_if(result.mappings, [&](const LayerMapping& given) {
    return std::none_of(part.graph.layers.begin(), part.graph.layers.end(),
                        [&](const Layer& layer) { return layer.name == given.layer; });
  });
  return result;
}

}  // namespace

ModelShapes load_shapes(const std::string& name, const std::string& kind, const Options& options,
                        const ArchConfig& config) {
  const std::filesystem::path path = find_model(name, kind);
  ModelShapes shapes;
  shapes.name = name;
  if (model_kind(path) == ModelKind::kWorkload) {
    require_not_written(options, path, "the workload");
    require_onnx_options(options, name, model_kind_name(ModelKind::kWorkload));
    shapes.hash = file_hash(path);
    shapes.parts.push_back({load_workload_shapes(path, options.batch)});
    return shapes;
  }
  if (model_kind(path) == ModelKind::kTopology) {
    shapes.hash = file_hash(path);
    shapes.parts = parts_of_topology(name, options, config);
    return shapes;
  }
  Model model = load_model_file(path, name, options.batch, options);
  snap_model(model, options, config);
  check_tensors(model.graph);
  shapes.hash = model.file ? file_hash(*model.file) : file_hash(path);
  shapes.parts.push_back({without_tensors(model.graph)});
  return shapes;
}

// A command with its origin; its times, also as tokens, stalls and accounts.
std::int64_t memory_of_timing(std::int64_t commands) {
  constexpr std::int64_t kBytes = sizeof(EncodedCommand) + sizeof(Origin) + 3 * sizeof(CommandTime);
  return commands * kBytes;
}

NetworkTime time_network(const ModelShapes& model, const ArchConfig& arch,
                         const CompileOptions& options, const EnergyTable* energy,
                         TimingDetail detail, std::int64_t at_once) {
  NetworkTime time;
  if (detail == TimingDetail::kPage) time.timeline.emplace();
  const bool is_only = model.parts.size() == 1;
  if (!is_only) require_layers(model, options.mappings);
  for (const ModelShapes::Part& part : model.parts) {
    const Compilation compilation(part.graph, arch, options_of(part, options, is_only));
    require_memory(at_once * memory_of_timing(compilation.command_count()),
                   "model '" + model.name + "'");
    const Program program = compilation.commands();
    RunResult result;
    result.times = command_times(program);
    const std::vector<LayerMapping> mappings = compilation.mappings();
    RunReport report;
    report.engine = "recurrence";
    add_layers(report, program, result);
    add_mappings(report, mappings);
    if (energy != nullptr) add_energy(report, program, *energy);
    if (detail == TimingDetail::kPage) {
      add_bounds(report, compilation.bounds());
      append(*time.timeline, timeline_of(program, result.times),
             static_cast<std::uint32_t>(time.report.layers.size()));
    }
    if (model.parts.size() == 1) {
      time.report = std::move(report);
    } else {
      add_run(time.report, report);
    }
    time.mappings.insert(time.mappings.end(), mappings.begin(), mappings.end());
    const std::vector<OperandAccesses> accesses = operand_accesses(program, result.times);
    time.accesses.insert(time.accesses.end(), accesses.begin(), accesses.end());
  }
  if (energy != nullptr && model.parts.size() > 1) sum_energy(time.report, *energy);
  return time;
}

}  // namespace qsim
