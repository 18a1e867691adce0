#include "cli/session/inputs/model_source.h"

#include <algorithm>

#include "cli/session/inputs/config_fields.h"
#include "cli/session/inputs/shipped_files.h"
#include "cli/session/inputs/topology_source.h"
#include "core/base/printable.h"
#include "formats/files/held_file.h"
#include "formats/onnx/importer/onnx_importer.h"
#include "formats/settings/arch_config_file.h"
#include "formats/settings/energy_table_file.h"
#include "formats/settings/graph_words.h"
#include "formats/settings/scale_sim_config.h"
#include "formats/traces/layer_trace.h"
#include "formats/workload/workload.h"

namespace qsim::cli {

using formats::load_energy_table;
namespace {

namespace fs = std::filesystem;

void load_onnx(Model& model, const NetworkRequest& request) {
  model.file = std::make_shared<const formats::HeldFile>(model.path);
  formats::ImportOptions how{request.batch.value_or(1)};
  how.rounding = asked_rounding(request);
  how.on_float_node = [&model](const formats::FloatNode& node) {
    model.float_nodes.push_back(node);
  };
  model.graph = formats::import_onnx(model.file, how);
  model.sidecar = formats::load_sidecar_of(model.path);
  if (!model.sidecar || model.sidecar->labels.empty()) return;
  const auto labels = static_cast<std::int64_t>(model.sidecar->labels.size());
  const std::int64_t outputs = model.graph.output_value().shape.channels;
  if (labels == outputs) return;
  throw_bad_input(model.sidecar->file + ": " + std::to_string(labels) + " labels; expected " +
                  std::to_string(outputs) + ", one for each output of the model");
}

void load_workload_file(Model& model, const NetworkRequest& request) {
  formats::Workload workload = formats::load_workload(model.path, request.batch, request.tensors);
  model.graph = std::move(workload.graph);
  model.own_input = std::move(workload.input);
}

void load_trace(Model& model, std::optional<std::int64_t> batch) {
  formats::LayerTrace trace = formats::read_layer_trace(model.path);
  if (batch && *batch != trace.graph.input_value().shape.batch) {
    throw Error(ExitCode::kUsage, "--batch " + std::to_string(*batch) + ": the layer trace " +
                                      model.path.string() + " has batch " +
                                      std::to_string(trace.graph.input_value().shape.batch) +
                                      "; leave --batch out");
  }
  model.graph = std::move(trace.graph);
  model.own_input = std::move(trace.input);
  model.recorded = std::move(trace.ofmaps);
}

}  // namespace

std::string_view model_kind_name(ModelKind kind) {
  switch (kind) {
    case ModelKind::kOnnx:
      return "ONNX model";
    case ModelKind::kWorkload:
      return "workload";
    case ModelKind::kLayerTrace:
      return "layer trace";
    case ModelKind::kTopology:
      return "topology";
  }
  return "?";
}

ModelKind model_kind(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return ModelKind::kLayerTrace;
  if (path.extension() == ".onnx") return ModelKind::kOnnx;
  if (path.extension() == ".yaml" || path.extension() == ".yml") return ModelKind::kWorkload;
  if (formats::is_topology_file(path)) return ModelKind::kTopology;
  if (fs::exists(path, error) && !fs::is_regular_file(path, error)) {
    static_cast<void>(formats::HeldFile(path));  // says what it is instead of a file
  }
  throw_bad_input(path.string() +
                  ": is not the name of a model; expected an ONNX file (.onnx), a workload "
                  "(.yaml), a SCALE-Sim "
                  "topology (.csv) or a layer-trace folder");
}

void require_onnx_options(const ScaleOptions& options, const std::string& name,
                          std::string_view kind) {
  const std::string option = options.snap ? "--snap" : "--rounding";
  if (!options.snap && options.rounding.empty()) return;
  throw Error(ExitCode::kUsage, option + " is for ONNX models; '" + echoed(name) + "' is a " +
                                    std::string(kind) + "; leave " + option + " out");
}

std::optional<RequantizerRounding> asked_rounding(const ScaleOptions& options) {
  if (options.rounding.empty()) return std::nullopt;
  const auto found = std::ranges::find(formats::kRequantizerRoundingWords, options.rounding);
  return static_cast<RequantizerRounding>(found - formats::kRequantizerRoundingWords.begin());
}

ArchConfig load_config(const ConfigOption& options) {
  ArchConfig config = formats::load_arch_config(find_config(options.config));
  set_fields(config, options.set);
  return config;
}

ArchConfig load_config(Context& context, const ConfigOption& options) {
  const fs::path path = find_config(options.config);
  if (!formats::is_scale_sim_config(path)) return load_config(options);
  formats::ScaleSimConfig loaded = formats::load_scale_sim_config(path);
  for (const std::string& note : loaded.notes) context.note(path.string() + ": " + note);
  set_fields(loaded.config, options.set);
  return std::move(loaded.config);
}

std::optional<EnergyTable> load_energy_table(const SearchOptions& options) {
  if (options.energy.empty()) return std::nullopt;
  return load_energy_table(find_energy_table(options.energy));
}

void check_unused_config(const ConfigOption& options) {
  if (options.config_given) load_config(options);
}

namespace {

// What the network is called after: the name that the user gave, without folders and ".onnx". What
// the file calls its graph is a word of the exporter.
std::string own_name(const std::string& given) {
  constexpr std::string_view kSuffix = ".onnx";
  std::string name = fs::path(given).filename().string();
  if (name.ends_with(kSuffix)) name.resize(name.size() - kSuffix.size());
  return name;
}

}  // namespace

Model load_model_file(const fs::path& path, const std::string& name,
                      const NetworkRequest& request) {
  Model model;
  model.kind = model_kind(path);
  model.name = name;
  model.path = path;
  if (model.kind != ModelKind::kOnnx) {
    require_onnx_options(request, name, model_kind_name(model.kind));
  }
  switch (model.kind) {
    case ModelKind::kOnnx:
      load_onnx(model, request);
      model.graph.name = own_name(name);
      break;
    case ModelKind::kWorkload:
      load_workload_file(model, request);
      break;
    case ModelKind::kLayerTrace:
      load_trace(model, request.batch);
      break;
    case ModelKind::kTopology:
      load_only_layer(model, request);
      break;
  }
  return model;
}

Model load_model(const NetworkRequest& request, const ArchConfig& config) {
  if (!request.model.empty()) {
    return load_model_file(find_model(request.model), request.model, request);
  }
  const std::string kind = "config '" + config.name + "': model";
  return load_model_file(find_model(config.model, kind), config.model, request);
}

}  // namespace qsim::cli
