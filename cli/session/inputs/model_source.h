// The first step of every command: from what the user named to a Graph in memory.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/terminal/context.h"
#include "cli/terminal/shared_options.h"
#include "core/machine/arch_config.h"
#include "core/machine/energy_table.h"
#include "core/network/graph_shapes.h"
#include "formats/files/held_file.h"
#include "formats/onnx/importer/onnx_importer.h"
#include "formats/settings/sidecar.h"

namespace qsim::cli {

enum class ModelKind : std::uint8_t { kOnnx, kWorkload, kLayerTrace, kTopology };

std::string_view model_kind_name(
    ModelKind kind);  // "ONNX model", "workload", "layer trace", "topology"

// The kind of model, by the file's name; throws Error for a name of no kind.
ModelKind model_kind(const std::filesystem::path& path);

struct Model {
  ModelKind kind = ModelKind::kOnnx;
  std::string name;  // as the user gave it
  std::filesystem::path path;
  std::shared_ptr<const formats::HeldFile> file;  // an ONNX model's, as it was imported
  Graph graph;
  std::optional<Tensor> own_input;              // a workload's, a trace's or a topology's layer's
  std::vector<Tensor> recorded;                 // a trace's ofmaps, one per graph layer
  std::optional<formats::Sidecar> sidecar;      // an ONNX model's
  std::vector<formats::FloatNode> float_nodes;  // of an ONNX model
};

// What a command asks of the network that its options name.
struct NetworkRequest : ConfigOption, NetworkOptions {
  // What becomes of the values that a workload or a topology has no file of. Only commands that
  // compute with the values, or write them, have them drawn.
  Tensors tensors = Tensors::kDrawn;
  std::string layers = {};  // --layers, a pattern; "" for all
  std::string layer = {};   // --layer, a name; "" for all
  // How the user of this command takes one layer of a topology.
  const char* way_to_one = "take a topology of one layer";
};

// Throws Error (exit code 2) where --rounding or --snap is given: `name` is a `kind`, which is no
// ONNX model.
void require_onnx_options(const ScaleOptions& options, const std::string& name,
                          std::string_view kind);

// The rounding that --rounding names; nothing without the option.
std::optional<RequantizerRounding> asked_rounding(const ScaleOptions& options);

// The config that --config names. Throws Error.
ArchConfig load_config(const ConfigOption& options);
// The same, with a note of each size that is not as the file says
// (formats/settings/scale_sim_config.h).
ArchConfig load_config(Context& context, const ConfigOption& options);

// The energy table that --energy names; absent without the option. Throws Error.
std::optional<EnergyTable> load_energy_table(const SearchOptions& options);

// For a command that needs no config: one that --config names must be right all the same.
void check_unused_config(const ConfigOption& options);

// The model that --model or else the config names, or that of a file. Throws Error, also for a
// topology of several layers (topology_source.h).
Model load_model(const NetworkRequest& request, const ArchConfig& config);
Model load_model_file(const std::filesystem::path& path, const std::string& name,
                      const NetworkRequest& request);

}  // namespace qsim::cli
