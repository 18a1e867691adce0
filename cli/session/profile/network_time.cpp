#include "cli/session/profile/network_time.h"

#include <algorithm>
#include <map>

#include "cli/session/inputs/file_hash.h"
#include "cli/session/inputs/shipped_files.h"
#include "cli/session/inputs/snapped_model.h"
#include "cli/session/inputs/topology_source.h"
#include "core/base/engine_names.h"
#include "core/base/printable.h"
#include "core/machine/command_streams.h"
#include "core/network/graph_shapes.h"
#include "formats/files/memory.h"
#include "formats/workload/workload.h"
#include "report/run_sum.h"
#include "sim/recurrence/program_times.h"

namespace qsim::cli {

using compiler::CompileOptions;
namespace {

std::vector<ModelShapes::Part> parts_of_topology(const NetworkRequest& request,
                                                 const ArchConfig& config) {
  const std::optional<TopologySource> source = find_topology(request, config);
  QSIM_CHECK(source.has_value(), request.model + " is a topology");
  std::vector<ModelShapes::Part> parts;
  for (std::size_t i = 0; i < source->topology.layers.size(); ++i) {
    parts.push_back({layer_model(*source, i, request.tensors).graph,
                     source->topology.layers[i].is_first,
                     formats::first_alike(source->topology, i)});
  }
  return parts;
}

// Throws unless every mapping is of a layer of some part; the compiler checks a network of one
// part.
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

// The options for one part of a network, with the mappings of its layers only.
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

// The parts that the array has of a file that it does not run alone. They are those of
// requantizer: dyadic, since the configurations of a profile may differ in it.
void load_parts(ModelShapes& shapes, const NetworkRequest& request, ArchConfig config,
                const ShapeOptions& asked) {
  config.requantizer = RequantizerKind::kDyadic;
  const HostedModel model = load_parts_of(request, config, asked);
  if (model.hosted.parts.empty()) {
    throw_unsupported(model.path.string() +
                      ": the array runs no part of it; `qsim inspect` shows why");
  }
  for (const ArrayPart& part : model.hosted.parts) {
    shapes.parts.push_back({without_tensors(part.graph), true, shapes.parts.size()});
  }
  shapes.host_nodes = model.hosted.host_steps.size();
  shapes.hash = model_hash(model.file);
}

}  // namespace

ModelShapes load_shapes(const NetworkRequest& request, const std::string& kind,
                        const ArchConfig& config, const ShapeOptions& asked) {
  const std::string& name = request.model;
  const std::filesystem::path path = find_model(name, kind);
  ModelShapes shapes;
  shapes.name = name;
  shapes.kind = model_kind(path);
  if (gives_shapes(request, config, asked)) {
    load_parts(shapes, request, config, asked);
    return shapes;
  }
  if (shapes.kind == ModelKind::kWorkload) {
    require_onnx_options(request, name, model_kind_name(ModelKind::kWorkload));
    shapes.hash = file_hash(path);
    shapes.parts.push_back({formats::load_workload_shapes(path, request.batch)});
    return shapes;
  }
  if (shapes.kind == ModelKind::kTopology) {
    shapes.hash = file_hash(path);
    shapes.parts = parts_of_topology(request, config);
    return shapes;
  }
  try {
    Model model = load_model_file(path, name, request);
    snap_model(model, request, config);
    compiler::check_tensors(model.graph);
    shapes.hash = model.file ? model_hash(model.file) : file_hash(path);
    if (shapes.kind != ModelKind::kOnnx || runs_alone(model.graph, config) ||
        !wants_host(request, config)) {
      shapes.parts.push_back({without_tensors(model.graph)});
      return shapes;
    }
  } catch (const Error& error) {
    if (error.code() != ExitCode::kUnsupportedModel || !wants_host(request, config)) throw;
  }
  load_parts(shapes, request, config, {});
  return shapes;
}

// A command with its origin; its times, also as tokens, stalls and accounts.
std::int64_t memory_of_timing(std::int64_t commands) {
  constexpr std::int64_t kBytes = sizeof(EncodedCommand) + sizeof(Origin) + 3 * sizeof(CommandTime);
  return commands * kBytes;
}

namespace {

NetworkTime time_part(const ModelShapes& model, const ModelShapes::Part& part,
                      const ArchConfig& arch, const CompileOptions& options,
                      const EnergyTable* energy, TimingDetail detail, std::int64_t at_once) {
  const compiler::Compilation compilation(part.graph, arch,
                                          options_of(part, options, model.parts.size() == 1));
  formats::require_memory(at_once * memory_of_timing(compilation.command_count()),
                          "model '" + model.name + "'");
  const Program program = compilation.commands();
  RunResult result;
  result.times = sim::command_times(program);
  NetworkTime time;
  time.mappings = compilation.mappings();
  time.report.engine = kRecurrenceEngine;
  report::add_layers(time.report, program, result);
  report::add_mappings(time.report, time.mappings);
  if (energy != nullptr) report::add_energy(time.report, program, *energy);
  if (detail == TimingDetail::kPage) {
    report::add_bounds(time.report, compilation.bounds());
    time.timeline = report::timeline_of(program, result.times);
  }
  time.accesses = report::operand_accesses(program, result.times);
  return time;
}

// The same for a layer of a topology that has another name.
void rename(NetworkTime& time, const std::string& layer) {
  time.report.layers.front().name = layer;
  time.mappings.front().layer = layer;
}

void add_part(NetworkTime& sum, const NetworkTime& part) {
  if (part.timeline) {
    if (!sum.timeline) sum.timeline.emplace();
    report::append(*sum.timeline, *part.timeline,
                   static_cast<std::uint32_t>(sum.report.layers.size()));
  }
  report::add_run(sum.report, part.report);
  sum.mappings.insert(sum.mappings.end(), part.mappings.begin(), part.mappings.end());
  sum.accesses.insert(sum.accesses.end(), part.accesses.begin(), part.accesses.end());
}

}  // namespace

NetworkTime time_network(const ModelShapes& model, const ArchConfig& arch,
                         const CompileOptions& options, const EnergyTable* energy,
                         TimingDetail detail, std::int64_t at_once) {
  if (model.parts.size() == 1) {
    return time_part(model, model.parts.front(), arch, options, energy, detail, at_once);
  }
  require_layers(model, options.mappings);
  NetworkTime sum;
  std::map<std::size_t, NetworkTime> done;  // by the first part of its sizes
  for (std::size_t i = 0; i < model.parts.size(); ++i) {
    const ModelShapes::Part& part = model.parts[i];
    // A page has each layer's own timeline, and mappings may be of any layer.
    const bool may_repeat = detail == TimingDetail::kCosts && options.mappings.empty();
    const auto known = done.find(part.first_alike);
    if (may_repeat && known != done.end()) {
      rename(known->second, part.graph.layers.front().name);
      add_part(sum, known->second);
      continue;
    }
    NetworkTime time = time_part(model, part, arch, options, energy, detail, at_once);
    add_part(sum, time);
    if (may_repeat) done.emplace(i, std::move(time));
  }
  if (energy != nullptr) report::sum_energy(sum.report, *energy);
  return sum;
}

}  // namespace qsim::cli
