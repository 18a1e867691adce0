#include "report/analysis/cycle_accounting.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>

#include "core/base/error.h"
#include "core/machine/dram_channel.h"
#include "core/machine/timing_model.h"
#include "report/analysis/channel_waits.h"
#include "report/analysis/dram_bytes.h"

namespace qsim::report {
namespace {

template <std::size_t size>
std::uint64_t sum(const std::array<std::uint64_t, size>& cycles) {
  return std::accumulate(cycles.begin(), cycles.end(), std::uint64_t{0});
}

UnitAccount account_unit(std::size_t unit, const std::vector<CommandTime>& times,
                         const std::vector<StartCause>& causes, std::uint64_t total) {
  UnitAccount account;
  for (std::size_t i = 0; i < times.size(); ++i) {
    account.busy_cycles += times[i].free - times[i].start;
    account.stall_cycles[causes[i].semaphore] += causes[i].stall_cycles;
  }
  const std::uint64_t last_free = times.empty() ? 0 : times.back().free;
  QSIM_CHECK(last_free <= total, std::string(kUnitNames[unit]) + " unit is busy until cycle " +
                                     std::to_string(last_free) +
                                     ", after the last STORE's done at " + std::to_string(total));
  account.idle_cycles = total - last_free;
  QSIM_CHECK(account.busy_cycles + sum(account.stall_cycles) + account.idle_cycles == total,
             std::string(kUnitNames[unit]) + " unit's cycles do not add up");
  return account;
}

std::size_t layer_of(const Program& program, std::size_t unit, std::size_t index) {
  const auto layer = static_cast<std::size_t>(program.streams[unit].origin(index).layer);
  QSIM_CHECK(layer < program.layers.size(),
             command_name(program, unit, index) + " belongs to no layer");
  return layer;
}

std::vector<LayerAccount> layer_windows(const Program& program, const CommandTimes& times) {
  std::vector<LayerAccount> layers(program.layers.size());
  for (std::size_t i = 0; i < times[kStoreUnit].size(); ++i) {
    layers[layer_of(program, kStoreUnit, i)].end_cycle = times[kStoreUnit][i].done;
  }
  std::uint64_t begin = 0;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    QSIM_CHECK(layers[l].end_cycle > begin,
               "layer " + program.layers[l].name + " does not store anything after the one before");
    layers[l].begin_cycle = begin;
    begin = layers[l].end_cycle;
    layers[l].macs = static_cast<std::uint64_t>(program.layers[l].macs);
  }
  return layers;
}

// Calls visit(layer, begin, end) for the parts of [begin, end) in the layers' windows. Calls must
// come with ascending intervals: `cursor` is the layer where the last one ended.
template <typename Visit>
void cut_at_windows(std::vector<LayerAccount>& layers, std::size_t& cursor, std::uint64_t begin,
                    std::uint64_t end, Visit visit) {
  while (begin < end) {
    while (layers[cursor].end_cycle <= begin) ++cursor;
    const std::uint64_t cut = std::min(end, layers[cursor].end_cycle);
    visit(layers[cursor], begin, cut);
    begin = cut;
  }
}

void account_execute(const Program& program, const std::vector<CommandTime>& times,
                     const std::vector<StartCause>& causes, std::uint64_t total,
                     std::vector<LayerAccount>& layers) {
  const auto pes = static_cast<std::uint64_t>(program.arch.array_rows * program.arch.array_cols);
  std::size_t cursor = 0;
  std::uint64_t unit_free = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const auto execute = program.streams[kExecuteUnit].fields<Execute>(i);
    const ExecuteTerms terms = execute_terms(execute, program.arch);
    const std::uint64_t start = times[i].start;
    cut_at_windows(layers, cursor, unit_free, start,
                   [&](LayerAccount& layer, std::uint64_t begin, std::uint64_t end) {
                     layer.stall_cycles[causes[i].semaphore] += end - begin;
                   });
    cut_at_windows(layers, cursor, start, times[i].free,
                   [&](LayerAccount& layer, std::uint64_t begin, std::uint64_t end) {
                     layer.stream_cycles += end - begin;
                     layer.fold_bubble_cycles +=
                         terms.bubble_before(end - start) - terms.bubble_before(begin - start);
                   });
    layers[layer_of(program, kExecuteUnit, i)].streamed_macs += terms.useful() * pes;
    unit_free = times[i].free;
  }
  cut_at_windows(layers, cursor, unit_free, total,
                 [](LayerAccount& layer, std::uint64_t begin, std::uint64_t end) {
                   layer.idle_cycles += end - begin;
                 });
}

// Which memory a LOAD fills; 0 for the commands of the other units.
std::size_t destination(const Program& program, std::size_t unit, std::size_t index) {
  if (static_cast<Unit>(unit) != Unit::kLoad) return 0;
  return reported_memory(program.streams[unit].fields<Load>(index).memory);
}

void account_busy(const Program& program, const CommandTimes& times,
                  std::vector<LayerAccount>& layers) {
  for (std::size_t u = 0; u < kUnits; ++u) {
    std::size_t cursor = 0;
    for (std::size_t i = 0; i < times[u].size(); ++i) {
      const std::size_t memory = destination(program, u, i);
      cut_at_windows(layers, cursor, times[u][i].start, times[u][i].free,
                     [&](LayerAccount& layer, std::uint64_t begin, std::uint64_t end) {
                       layer.busy.units[u] += end - begin;
                       if (static_cast<Unit>(u) != Unit::kLoad) return;
                       layer.busy.loads[memory] += end - begin;
                     });
    }
  }
}

// Cycles in which a command of the unit moves a beat.
std::uint64_t beats_of(const Program& program, Unit unit, std::size_t index) {
  const CommandStream stream = program.stream(unit);
  const DramTransfer transfer = unit == Unit::kLoad
                                    ? dram_transfer(stream.fields<Load>(index), program.arch)
                                    : dram_transfer(stream.fields<Store>(index), program.arch);
  return transfer.runs * transfer.run_beats;
}

void account_waits(const Program& program, const CommandTimes& times,
                   std::vector<LayerAccount>& layers) {
  for (const Unit unit : {Unit::kLoad, Unit::kStore}) {
    const auto u = static_cast<std::size_t>(unit);
    std::optional<ChannelWaits> waits;  // made when a command has some
    std::size_t cursor = 0;
    for (std::size_t i = 0; i < times[u].size(); ++i) {
      if (times[u][i].free - times[u][i].start <= beats_of(program, unit, i)) continue;
      if (!waits) waits.emplace(program, unit, times[u]);
      for (const CycleInterval& wait : waits->of(i)) {
        cut_at_windows(layers, cursor, wait.begin, wait.end,
                       [&](LayerAccount& layer, std::uint64_t begin, std::uint64_t end) {
                         layer.busy.waits[u] += end - begin;
                       });
      }
    }
  }
}

void account_paths(const Program& program, const CommandTimes& times, RunAccount& run) {
  std::vector<std::uint64_t> windows;
  for (const LayerAccount& layer : run.layers) windows.push_back(layer.end_cycle);
  const std::vector<LayerPath> paths = critical_paths(program, times, run.causes, windows);
  for (std::size_t l = 0; l < paths.size(); ++l) run.layers[l].path = paths[l];
}

void account_dram(const Program& program, std::vector<LayerAccount>& layers) {
  const std::vector<LayerDramBytes> bytes = dram_bytes_of_commands(program);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    layers[i].dram_read_bytes = bytes[i].read;
    layers[i].dram_write_bytes = bytes[i].written;
  }
}

void check_layer(const Program& program, std::size_t index, const LayerAccount& layer) {
  const std::string& name = program.layers[index].name;
  QSIM_CHECK(layer.stream_cycles + sum(layer.stall_cycles) + layer.idle_cycles == layer.cycles(),
             "the cycles of layer " + name + " do not add up");
  QSIM_CHECK(layer.busy.units[static_cast<std::size_t>(Unit::kExecute)] == layer.stream_cycles,
             "the array's busy cycles in layer " + name + " are not those in which it streams");
  QSIM_CHECK(sum(layer.path.waits) + layer.stream_cycles == layer.cycles(),
             "the critical path of layer " + name + " does not explain why the array waits");
  QSIM_CHECK(layer.fold_bubble_cycles <= layer.stream_cycles,
             "layer " + name + " has more bubbles than cycles");
  QSIM_CHECK(layer.macs <= layer.streamed_macs,
             "layer " + name + " has " + std::to_string(layer.macs) + " useful MACs but streams " +
                 std::to_string(layer.streamed_macs));
  QSIM_CHECK(utilization(layer.macs, layer.cycles(), program.arch) <= 1.0,
             "the utilization of layer " + name + " exceeds 1");
}

void check_run(const Program& program, const RunAccount& run) {
  std::uint64_t cycles = 0;
  std::uint64_t stream_cycles = 0;
  StallCycles stalls{};
  for (std::size_t l = 0; l < run.layers.size(); ++l) {
    check_layer(program, l, run.layers[l]);
    cycles += run.layers[l].cycles();
    stream_cycles += run.layers[l].stream_cycles;
    for (std::size_t s = 0; s < kStallCauses; ++s) stalls[s] += run.layers[l].stall_cycles[s];
  }
  const UnitAccount& execute = run.units[static_cast<std::size_t>(Unit::kExecute)];
  QSIM_CHECK(cycles == run.total_cycles && stream_cycles == execute.busy_cycles &&
                 stalls == execute.stall_cycles,
             "the layers' cycles do not add up to the run's");
}

}  // namespace

namespace {

template <std::size_t size>
void add(std::array<std::uint64_t, size>& sum, const std::array<std::uint64_t, size>& cycles) {
  for (std::size_t i = 0; i < size; ++i) sum[i] += cycles[i];
}

}  // namespace

std::string stall_name(const Program& program, std::size_t cause) {
  return cause == kSwitchStall ? "dataflow_switch" : program.semaphores[cause].name;
}

LayerAccount sum_of_layers(const RunAccount& account) {
  LayerAccount sum;
  sum.end_cycle = account.total_cycles;
  for (const LayerAccount& layer : account.layers) {
    sum.stream_cycles += layer.stream_cycles;
    sum.fold_bubble_cycles += layer.fold_bubble_cycles;
    add(sum.stall_cycles, layer.stall_cycles);
    sum.idle_cycles += layer.idle_cycles;
    sum.macs += layer.macs;
    sum.streamed_macs += layer.streamed_macs;
    sum.dram_read_bytes += layer.dram_read_bytes;
    sum.dram_write_bytes += layer.dram_write_bytes;
    add(sum.busy.units, layer.busy.units);
    add(sum.busy.loads, layer.busy.loads);
    add(sum.busy.waits, layer.busy.waits);
    add(sum.path.cycles, layer.path.cycles);
    add(sum.path.waits, layer.path.waits);
  }
  return sum;
}

double limiter_busy(const LayerAccount& layer) {
  if (layer.cycles() == 0) return 0;
  const LimitedBy limit = limited_by(layer.path.cycles);
  const auto unit_of = [&](Limiter limiter) {
    if (limiter == Limiter::kArray) return Unit::kExecute;
    if (limiter == Limiter::kReadBus) return Unit::kLoad;
    return limiter == Limiter::kPost ? Unit::kPost : Unit::kStore;
  };
  const std::uint64_t busy =
      limit.limiter == Limiter::kDependence
          ? limit.path_cycles
          : layer.busy.units[static_cast<std::size_t>(unit_of(limit.limiter))];
  return static_cast<double>(busy) / static_cast<double>(layer.cycles());
}

double utilization(std::uint64_t macs, std::uint64_t cycles, const ArchConfig& arch) {
  if (cycles == 0) return 0;
  return static_cast<double>(macs) /
         (static_cast<double>(arch.array_rows * arch.array_cols) * static_cast<double>(cycles));
}

RunAccount account(const Program& program, const CommandTimes& times) {
  RunAccount run;
  run.causes = start_causes(program, times);
  run.layers = layer_windows(program, times);
  run.total_cycles = run.layers.empty() ? 0 : run.layers.back().end_cycle;
  for (std::size_t u = 0; u < kUnits; ++u) {
    run.units[u] = account_unit(u, times[u], run.causes[u], run.total_cycles);
  }
  account_execute(program, times[kExecuteUnit], run.causes[kExecuteUnit], run.total_cycles,
                  run.layers);
  account_busy(program, times, run.layers);
  account_waits(program, times, run.layers);
  account_paths(program, times, run);
  account_dram(program, run.layers);
  for (const LayerAccount& layer : run.layers) {
    run.macs += layer.macs;
    run.dram_read_bytes += layer.dram_read_bytes;
    run.dram_write_bytes += layer.dram_write_bytes;
  }
  check_run(program, run);
  return run;
}

}  // namespace qsim::report
