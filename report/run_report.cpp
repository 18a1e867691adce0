#include "report/run_report.h"

#include <algorithm>

#include "report/analysis/dram_bytes.h"
#include "report/analysis/layer_edges.h"

namespace qsim::report {
namespace {

// The semaphores that commands of one unit wait for.
std::uint32_t waited_semaphores(const Program& program, Unit unit) {
  std::uint32_t mask = 0;
  const CommandStream stream = program.stream(unit);
  for (std::size_t i = 0; i < stream.size(); ++i) mask |= stream.wait_mask(i);
  return mask;
}

std::vector<Stall> stalls_of(const Program& program, std::uint32_t mask,
                             const StallCycles& cycles) {
  std::vector<Stall> stalls;
  for (std::size_t s = 0; s < kSemaphores; ++s) {
    if (((mask >> s) & 1) != 0) stalls.push_back({program.semaphores[s].name, cycles[s]});
  }
  return stalls;
}

// The stalls of the execute unit; those at switches of the dataflow are there if the run had any.
std::vector<Stall> execute_stalls_of(const Program& program, const StallCycles& cycles,
                                     bool has_switches) {
  std::vector<Stall> stalls =
      stalls_of(program, waited_semaphores(program, Unit::kExecute), cycles);
  if (has_switches) stalls.push_back({stall_name(program, kSwitchStall), cycles[kSwitchStall]});
  return stalls;
}

bool waits_at_switches(const RunAccount& run) {
  return run.units[static_cast<std::size_t>(Unit::kExecute)].stall_cycles[kSwitchStall] > 0;
}

LayerTiming timing_of(const Program& program, const LayerAccount& account, const LayerEdges& edges,
                      bool has_switches) {
  LayerTiming timing;
  timing.cycles = account.cycles();
  timing.utilization = utilization(account.macs, account.cycles(), program.arch);
  timing.stream_cycles = account.stream_cycles;
  timing.fold_bubble_cycles = account.fold_bubble_cycles;
  const LayerWaits waits = layer_waits(account, edges);
  timing.start_cycles = waits.start_cycles;
  timing.drain_cycles = waits.drain_cycles;
  timing.stalls = execute_stalls_of(program, waits.stalls, has_switches);
  timing.busy = account.busy;
  timing.critical_path = account.path.cycles;
  timing.limited_by = limited_by(account.path.cycles);
  timing.limiter_busy = limiter_busy(account);
  timing.array_time = array_time(program, account);
  return timing;
}

// DRAM traffic follows from the commands alone, so engines without time report it too.
void add_dram_bytes(std::vector<ReportLayer>& layers, const Program& program) {
  const std::vector<LayerDramBytes> bytes = dram_bytes_of_commands(program);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    layers[i].dram_read_bytes = bytes[i].read;
    layers[i].dram_write_bytes = bytes[i].written;
  }
}

void add_units(RunReport& report, const Program& program, const RunAccount& account) {
  for (std::size_t u = 0; u < kUnits; ++u) {
    const UnitAccount& unit = account.units[u];
    const std::string name(kUnitNames[u]);
    if (static_cast<Unit>(u) == Unit::kExecute) {
      const LayerTiming& total = *report.total.timing;
      report.units.push_back(
          {name, unit.busy_cycles, total.start_cycles, total.drain_cycles, 0, total.stalls});
      continue;
    }
    const std::uint32_t mask = waited_semaphores(program, static_cast<Unit>(u));
    report.units.push_back({name, unit.busy_cycles, 0, 0, unit.idle_cycles,
                            stalls_of(program, mask, unit.stall_cycles)});
  }
}

void add_timing(RunReport& report, const Program& program, const RunResult& result) {
  const RunAccount run = account(program, result.times);
  const std::vector<LayerEdges> edges = layer_edges(program, result.times, run);
  const bool has_switches = waits_at_switches(run);
  for (std::size_t i = 0; i < report.layers.size(); ++i) {
    report.layers[i].timing = timing_of(program, run.layers[i], edges[i], has_switches);
  }
  report.total.timing = timing_of(program, sum_of_layers(run), sum_of_edges(edges), has_switches);
  report.simulated_seconds =
      static_cast<double>(run.total_cycles) / (static_cast<double>(program.arch.clock_mhz) * 1e6);
  add_units(report, program, run);
}

// The dataflow of each layer's first EXECUTE; "" for a layer without one.
std::vector<std::string> dataflows_of(const Program& program) {
  std::vector<std::string> dataflows(program.layers.size());
  const CommandStream executes = program.stream(Unit::kExecute);
  for (std::size_t i = 0; i < executes.size(); ++i) {
    std::string& dataflow = dataflows[static_cast<std::size_t>(executes.origin(i).layer)];
    if (dataflow.empty()) dataflow = kDataflowNames[executes.fields<Execute>(i).dataflow];
  }
  return dataflows;
}

}  // namespace

void add_layers(RunReport& report, const Program& program, const RunResult& result) {
  report.config = program.arch;
  report.wall_seconds = result.wall_seconds;
  const std::vector<std::string> dataflows = dataflows_of(program);
  for (std::size_t i = 0; i < program.layers.size(); ++i) {
    const ProgramLayer& layer = program.layers[i];
    report.layers.push_back({layer.name, layer.operation, dataflows[i], layer.mapping,
                             static_cast<std::uint64_t>(layer.macs), 0, 0, std::nullopt,
                             std::nullopt});
  }
  add_dram_bytes(report.layers, program);
  if (result.dram_traffic) check_dram_bytes(program, *result.dram_traffic);
  report.total.name = "total";
  for (const ReportLayer& layer : report.layers) {
    report.total.macs += layer.macs;
    report.total.dram_read_bytes += layer.dram_read_bytes;
    report.total.dram_write_bytes += layer.dram_write_bytes;
  }
  const bool has_time = std::any_of(result.times.begin(), result.times.end(),
                                    [](auto& unit) { return !unit.empty(); });
  if (has_time) add_timing(report, program, result);
}

void add_mappings(RunReport& report, std::span<const LayerMapping> mappings) {
  QSIM_CHECK(report.layers.size() == mappings.size(), "each layer has a mapping");
  for (std::size_t i = 0; i < mappings.size(); ++i) {
    report.layers[i].mapping_fields = mappings[i].mapping;
  }
}

void add_bounds(RunReport& report, std::span<const LayerBounds> bounds) {
  QSIM_CHECK(report.layers.size() == bounds.size(), "each layer has bounds");
  LayerBounds total;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    report.layers[i].bounds = bounds[i];
    total += bounds[i];
  }
  report.total.bounds = total;
}

void add_energy(RunReport& report, const Program& program, const EnergyTable& table) {
  const std::vector<EnergyEvents> layers = energy_events(program);
  EnergyEvents total;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    total += layers[i];
    report.layers[i].energy = {layers[i], energy(layers[i], table, program.arch)};
  }
  const Energy sum = energy(total, table, program.arch);
  report.total.energy = {total, sum};
  report.energy = {table.name, table.unit, tops_per_watt(total, sum, table)};
  report.area = {table.name, area_of(program.arch), table.area};
}

}  // namespace qsim::report
