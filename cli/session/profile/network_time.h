// What a network costs in time, DRAM bytes and energy, from its shapes alone: no weights, no data,
// no simulation. The commands are those of a run, and their times those of the recurrence, so that
// cycles and bytes are those of `qsim run --no-data`.
#pragma once

#include "cli/session/inputs/hosted_model.h"
#include "cli/session/inputs/model_source.h"
#include "compiler/compile.h"
#include "report/analysis/operand_accesses.h"
#include "report/html/timeline.h"
#include "report/run_report.h"

namespace qsim::cli {

// A network without its tensors, for any number of accelerators; a topology of SCALE-Sim is a
// network for each layer, and an ONNX file with a host one for each part of the array, which run
// one after the other.
struct ModelShapes {
  struct Part {
    Graph graph;  // without tensors
    bool host_packs_taps = true;
    std::size_t first_alike = 0;  // the first part of the same sizes: the part itself, or before it
  };
  std::string name;  // as the user gave it
  std::string hash;  // of its file or folder; "" for what is none
  std::vector<Part> parts;
  std::size_t host_nodes = 0;  // that take no time here
  ModelKind kind = ModelKind::kWorkload;
};

// The request names the model: a path, or a shipped name. `kind` is what errors call it.
// Weights that a file has are read and checked (check_tensors), and those of a workload or topology
// are not drawn. Throws Error.
ModelShapes load_shapes(const NetworkRequest& request, const std::string& kind,
                        const ArchConfig& config, const ShapeOptions& asked);

struct NetworkTime {
  report::RunReport report;  // of the recurrence; provenance is left empty
  std::vector<report::OperandAccesses> accesses;
  std::vector<LayerMapping> mappings;
  std::optional<report::Timeline> timeline;
};

enum class TimingDetail : std::uint8_t {
  kCosts,  // neither bounds nor a timeline
  kPage,   // all that the report's page shows
};

// Bytes of memory that time_network takes for so many commands.
std::int64_t memory_of_timing(std::int64_t commands);

// `options.mappings` may name layers of any part. Throws Error (exit code 4) where the accelerator
// cannot run the network, and (exit code 3) where there is too little memory for `at_once` of them
// at a time. It has no state: threads may call it.
NetworkTime time_network(const ModelShapes& model, const ArchConfig& arch,
                         const compiler::CompileOptions& options, const EnergyTable* energy,
                         TimingDetail detail = TimingDetail::kCosts, std::int64_t at_once = 1);

}  // namespace qsim::cli
