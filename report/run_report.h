// Everything that a run yields, as plain data: what the table, JSON and CSV printers print.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/machine/area.h"
#include "core/machine/layer_bounds.h"
#include "core/machine/mapping.h"
#include "report/analysis/array_time.h"
#include "report/analysis/cycle_accounting.h"
#include "report/analysis/energy.h"
#include "report/output_class.h"
#include "report/tensor_comparison.h"

namespace qsim::report {

// What was run: enough to run it again. A hash is "fnv1a64:" and 16 hexadecimal digits of the
// file's bytes; empty for what is not a file.
struct Provenance {
  std::string version;
  std::string commit;
  std::vector<std::string> argv;
  std::uint64_t seed = 0;
  std::string config;
  std::string config_hash;
  std::string model;
  std::string model_hash;
  std::string input;
  std::string input_hash;
  std::string rounding;   // that --rounding names; empty without the option
  std::string rtl_model;  // key of the Verilated model; empty for the other engines
};

struct Stall {
  std::string semaphore;
  std::uint64_t cycles = 0;
};

// Absent where the engine has no time.
struct LayerTiming {
  std::uint64_t cycles = 0;
  double utilization = 0;
  std::uint64_t stream_cycles = 0;
  std::uint64_t fold_bubble_cycles = 0;
  std::uint64_t start_cycles = 0;  // as LayerWaits, stalls too
  std::uint64_t drain_cycles = 0;
  std::vector<Stall> stalls;  // one per semaphore that the execute unit waits for, also when 0
  BusyCycles busy;
  PathCycles critical_path{};
  LimitedBy limited_by;
  double limiter_busy = 0;
  std::vector<ArrayTimePart> array_time;
};

// Absent where no energy was asked for.
struct LayerEnergy {
  EnergyEvents events;
  Energy energy;
};

struct ReportLayer {
  std::string name;
  std::string operation;
  std::string dataflow;
  std::string mapping;
  std::uint64_t macs = 0;
  std::uint64_t dram_read_bytes = 0;
  std::uint64_t dram_write_bytes = 0;
  std::optional<LayerTiming> timing;
  std::optional<Mapping> mapping_fields;  // of a layer; absent for a total
  std::optional<LayerEnergy> energy = std::nullopt;
  std::optional<LayerBounds> bounds = std::nullopt;
};

// Over the run: busy_cycles + stalls + start_cycles + drain_cycles + idle_cycles = total cycles.
// Only the execute unit has start and drain cycles, as the total's LayerTiming; its idle cycles
// are part of the drain.
struct ReportUnit {
  std::string name;
  std::uint64_t busy_cycles = 0;
  std::uint64_t start_cycles = 0;
  std::uint64_t drain_cycles = 0;
  std::uint64_t idle_cycles = 0;
  std::vector<Stall> stalls;
};

// What the energies of the layers and the total are in.
struct ReportEnergy {
  std::string table;
  std::string unit;
  std::optional<double> tops_per_watt;  // absent for another unit than pJ
};

// The accelerator's cells, and their area where the table has numbers for it.
struct ReportArea {
  std::string table;
  AreaReport cells;
  std::optional<AreaTable> um2;
};

struct PhaseSeconds {
  double import = 0;
  double compile = 0;
  double simulate = 0;  // without `compare`
  double golden = 0;
  double compare = 0;  // OfmapSink, most of it while the engine runs
};

struct VerifySummary {
  std::string golden;  // "cpu" or "cuda"
  Comparison comparison;
};

// What --snap changes in a layer's ofmap, in real numbers (of a tensor without a scale: levels).
struct SnapDifference {
  std::string layer;
  double largest = 0;
  double mean = 0;  // of the absolute differences
  std::int64_t values = 0;
  std::int64_t changed = 0;  // bytes that differ
};

// Golden's ofmaps with --snap against those without, of one input.
struct SnapError {
  std::vector<SnapDifference> layers;  // of the graph, in their order; the last is the output's
  std::int64_t pictures = 0;
  std::optional<std::int64_t> top1_changed;  // pictures; absent where the output has no classes
};

// What a host does of the network, beside the array.
struct HostNodeReport {
  std::string name;
  std::string operation;
  std::string reason;  // why the array does not run it
  std::int64_t operations = 0;
  std::int64_t bytes = 0;
  std::int64_t cycles_estimated = 0;  // 0 without an estimate
};
// By the rates of the configuration's host, not measured.
struct HostEstimate {
  std::int64_t host_cycles = 0;   // of all nodes
  std::int64_t total_cycles = 0;  // of host and array
  bool overlap = false;           // both run at the same time where they can
};
struct HostReport {
  std::string as;                   // "integer" or "onnxruntime"
  std::int64_t parts = 0;           // that the array runs
  std::int64_t crossing_bytes = 0;  // of levels, from the host to the array and back
  std::vector<HostNodeReport> nodes;
  double seconds = 0;  // that golden's host took
  std::optional<HostEstimate> estimate = std::nullopt;
};

struct RunReport {
  Provenance provenance;
  ArchConfig config;
  std::string engine;
  std::vector<ReportLayer> layers;
  ReportLayer total;              // name "total"; its timing spans the run
  double simulated_seconds = 0;   // 0 without time
  std::vector<ReportUnit> units;  // empty without time
  std::optional<ReportEnergy> energy;
  std::optional<ReportArea> area;  // beside energy
  double wall_seconds = 0;         // the engine alone
  PhaseSeconds phases;
  std::vector<OutputClass> top;                   // best first
  std::optional<VerifySummary> verify;            // absent: not compared
  std::optional<SnapError> snap;                  // with --snap and data
  std::optional<HostReport> host = std::nullopt;  // of a network that has one
  bool prints_bounds = false;                     // in the text for people; JSON has them always
};

// Fills config, layers, total, units, simulated_seconds and wall_seconds; without timing for an
// engine that has none. Throws InternalError when the run's times break a rule of
// report/analysis/cycle_accounting.h.
void add_layers(RunReport& report, const Program& program, const RunResult& result);

// Adds the mapping of each layer to what add_layers() has filled.
void add_mappings(RunReport& report, std::span<const LayerMapping> mappings);

// Adds the lower bounds of each layer, and their sums as the total's.
void add_bounds(RunReport& report, std::span<const LayerBounds> bounds);

// Fills area and energy, also of the layers and the total, which add_layers has made.
void add_energy(RunReport& report, const Program& program, const EnergyTable& table);

}  // namespace qsim::report
