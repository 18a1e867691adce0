#include "report/run_sum.h"

#include <algorithm>

namespace qsim::report {
namespace {

void add_stalls(std::vector<Stall>& sum, const std::vector<Stall>& stalls) {
  for (const Stall& stall : stalls) {
    const auto it = std::find_if(sum.begin(), sum.end(), [&](const Stall& known) {
      return known.semaphore == stall.semaphore;
    });
    if (it == sum.end()) {
      sum.push_back(stall);
    } else {
      it->cycles += stall.cycles;
    }
  }
}

// All runs have their parts in one order. A part that is new to the sum comes after the one that is
// before it in `parts`; `useful` is the first of every run.
void add_array_time(std::vector<ArrayTimePart>& sum, const std::vector<ArrayTimePart>& parts) {
  std::size_t next = 0;
  for (const ArrayTimePart& part : parts) {
    const auto it = std::find_if(sum.begin(), sum.end(),
                                 [&](const ArrayTimePart& known) { return known.id == part.id; });
    if (it == sum.end()) {
      sum.insert(sum.begin() + static_cast<std::ptrdiff_t>(next), part);
    } else {
      it->pe_cycles += part.pe_cycles;
      next = static_cast<std::size_t>(it - sum.begin());
    }
    ++next;
  }
}

template <typename Array>
void add_each(Array& sum, const Array& more) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
}

// What limits them together, from sums over their windows.
void judge(LayerTiming& timing, std::uint64_t macs, const ArchConfig& config) {
  timing.utilization = utilization(macs, timing.cycles, config);
  timing.limited_by = limited_by(timing.critical_path);
  LayerAccount window;
  window.end_cycle = timing.cycles;
  window.busy = timing.busy;
  window.path.cycles = timing.critical_path;
  timing.limiter_busy = limiter_busy(window);
}

void add_timing(LayerTiming& sum, const LayerTiming& timing) {
  sum.cycles += timing.cycles;
  sum.stream_cycles += timing.stream_cycles;
  sum.fold_bubble_cycles += timing.fold_bubble_cycles;
  sum.start_cycles += timing.start_cycles;
  sum.drain_cycles += timing.drain_cycles;
  add_stalls(sum.stalls, timing.stalls);
  add_each(sum.busy.units, timing.busy.units);
  add_each(sum.busy.loads, timing.busy.loads);
  add_each(sum.busy.waits, timing.busy.waits);
  add_each(sum.critical_path, timing.critical_path);
  add_array_time(sum.array_time, timing.array_time);
}

void add_total(RunReport& sum, const ReportLayer& total) {
  sum.total.name = total.name;
  sum.total.macs += total.macs;
  sum.total.dram_read_bytes += total.dram_read_bytes;
  sum.total.dram_write_bytes += total.dram_write_bytes;
  if (total.timing) {
    if (!sum.total.timing) sum.total.timing.emplace();
    add_timing(*sum.total.timing, *total.timing);
    judge(*sum.total.timing, sum.total.macs, sum.config);
  }
  if (total.bounds) {
    if (!sum.total.bounds) sum.total.bounds.emplace();
    *sum.total.bounds += *total.bounds;
  }
  if (total.energy) {
    if (!sum.total.energy) sum.total.energy.emplace();
    sum.total.energy->events += total.energy->events;
  }
}

void add_units(std::vector<ReportUnit>& sum, const std::vector<ReportUnit>& units) {
  if (sum.empty()) {
    sum = units;
    return;
  }
  for (std::size_t u = 0; u < units.size(); ++u) {
    sum[u].busy_cycles += units[u].busy_cycles;
    sum[u].start_cycles += units[u].start_cycles;
    sum[u].drain_cycles += units[u].drain_cycles;
    sum[u].idle_cycles += units[u].idle_cycles;
    add_stalls(sum[u].stalls, units[u].stalls);
  }
}

}  // namespace

void add_run(RunReport& sum, const RunReport& run) {
  sum.config = run.config;
  sum.engine = run.engine;
  sum.layers.insert(sum.layers.end(), run.layers.begin(), run.layers.end());
  add_total(sum, run.total);
  add_units(sum.units, run.units);
  sum.simulated_seconds += run.simulated_seconds;
  sum.wall_seconds += run.wall_seconds;
}

void sum_energy(RunReport& sum, const EnergyTable& table) {
  if (!sum.total.energy) return;
  const EnergyEvents& events = sum.total.energy->events;
  sum.total.energy->energy = energy(events, table, sum.config);
  sum.energy = {table.name, table.unit, tops_per_watt(events, sum.total.energy->energy, table)};
  sum.area = {table.name, area_of(sum.config), table.area};
}

}  // namespace qsim::report
