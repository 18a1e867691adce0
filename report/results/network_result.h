// What a network costs on one accelerator with one dataflow: a point of `qsim profile`, and what
// `qsim compare` and --fail-if read of the JSON of a run or profile. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "report/analysis/critical_path.h"
#include "report/analysis/operand_accesses.h"
#include "report/run_report.h"

namespace qsim::report {

// A layer, or the total, whose name is "total". The fields are those of a run's JSON.
struct ResultLayer {
  std::string name;
  std::string operation;
  std::string dataflow;  // of the total: that of all layers, or "mixed"
  std::string mapping;   // "" for a total
  std::uint64_t macs = 0;
  std::uint64_t cycles = 0;
  double utilization = 0;
  std::uint64_t dram_read_bytes = 0;
  std::uint64_t dram_write_bytes = 0;
  std::uint64_t stream_cycles = 0;
  std::uint64_t start_cycles = 0;
  std::uint64_t edge_lane_pe_cycles = 0;
  std::string limited_by;
  double limiter_busy = 0;
  PathCycles critical_path{};               // by PathPart; all 0 in a file from before it was kept
  std::optional<double> energy;             // absent where no energy was asked for
  std::optional<OperandAccesses> accesses;  // of a layer of a profile; absent for a total

  std::uint64_t dram_bytes() const { return dram_read_bytes + dram_write_bytes; }
};

// A field of the configuration that `--set` gave, with its value: a number or a word.
using SetValue = std::variant<std::int64_t, std::string>;
using FieldValue = std::pair<std::string, SetValue>;

std::string set_text(const SetValue& value);

struct NetworkResult {
  std::string model;
  std::string config;           // its name, or what tells it from others of that name
  std::vector<FieldValue> set;  // in the order of the options; of a run none
  std::string dataflow;         // asked for: a short name or "auto"; of a run "mixed" too
  std::string error;            // why it cannot run, "" if it can; the rest is then empty
  bool lacks_memory = false;    // the error says so: it may run where there is more
  std::int64_t pes = 0;         // of the array
  std::vector<ResultLayer> layers;
  ResultLayer total;

  // The table's name and unit; "" without energy. In a profile they and what follows are set once
  // all points are known (complete_points), and --resume does not keep them.
  std::string energy_table;
  std::string energy_unit;
  std::int64_t sram_kib = 0;                // of the accelerator's memories together
  std::optional<double> simulated_seconds;  // at the configuration's clock; absent: not known
  std::optional<double> area_mm2;           // absent: the table of energies has no areas
  std::string area_extrapolated;            // AreaReport::outside; "" also without areas
  std::optional<double> tops_per_watt;      // absent: no energy, or one in another unit than pJ
  bool is_on_front = false;                 // pareto_front()

  bool ran() const { return error.empty(); }
};

// "pe16x16, array_rows 32, os": all but the model.
std::string point_label(const NetworkResult& result);
// "vgg16 on pe16x16, array_rows 32, os"
std::string full_label(const NetworkResult& result);
// "'vgg16 on pe16x16, os' and 'vgg16 on pe16x16, ws'": the labels of `results` for a message, those
// that are most like `label` first (nearest_names).
std::string nearest_results(const std::string& label, const std::vector<NetworkResult>& results);
// Whether both are of the same model, configuration, set fields and dataflow.
bool same_point(const NetworkResult& a, const NetworkResult& b);

// The short name of the dataflow of that name; any other word as it is.
std::string short_dataflow(const std::string& name);
// The dataflow of all layers that have one; "mixed" where they differ.
std::string common_dataflow(const std::vector<ResultLayer>& layers);

// How long its cycles last at the clock of the configuration.
double seconds_of(const NetworkResult& result, const ArchConfig& arch);

// Whether cycles of the two last differently long; no where a time is not known.
bool clocks_differ(const NetworkResult& a, const NetworkResult& b);

// What `report` says, which has times; `accesses` are those of its layers, or none. The result's
// names are left as they are.
void fill_result(NetworkResult& result, const RunReport& report,
                 const std::vector<OperandAccesses>& accesses);

}  // namespace qsim::report
