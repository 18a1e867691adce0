#include "analysis/cycle_accounting.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <string>

#include "analysis/dram_bytes.h"
#include "core/error.h"
#include "core/timing_model.h"

namespace qsim {
namespace {

using Times = std::array<std::vector<CommandTime>, kUnits>;

// When the tokens of each semaphore arrived, and how many have been taken. A semaphore has one
// producing unit, which is done with its commands in order, and one consuming unit: the k-th wait
// takes the token of the (k - initial)-th signal, the first `initial` being there from the start.
struct TokenLine {
  std::vector<std::uint64_t> arrivals;
  std::size_t taken = 0;
};

std::array<TokenLine, kSemaphores> token_lines(const Program& program, const Times& times) {
  std::array<TokenLine, kSemaphores> lines;
  for (std::size_t s = 0; s < kSemaphores; ++s) {
    lines[s].arrivals.assign(program.semaphores[s].initial, 0);
  }
  for (std::size_t u = 0; u < kUnits; ++u) {
    for (std::size_t i = 0; i < times[u].size(); ++i) {
      unsigned mask = program.streams[u].signal_mask(i);
      for (; mask != 0; mask &= mask - 1) {
        lines[static_cast<std::size_t>(std::countr_zero(mask))].arrivals.push_back(
            times[u][i].done);
      }
    }
  }
  return lines;
}

std::string command_name(const Program& program, std::size_t unit, std::size_t index) {
  std::string name(kUnitNames[unit]);
  name += " command " + std::to_string(index) + " (" +
          origin_text(program, program.streams[unit].origin(index)) + ")";
  return name;
}

// A wait of one command: which token came last, and when. cycle 0 without a wait.
struct LastToken {
  std::uint64_t cycle = 0;
  std::size_t semaphore = 0;
};

LastToken take_tokens(const Program& program, std::size_t unit, std::size_t index,
                      std::array<TokenLine, kSemaphores>& lines) {
  LastToken last;
  for (unsigned mask = program.streams[unit].wait_mask(index); mask != 0; mask &= mask - 1) {
    const auto s = static_cast<std::size_t>(std::countr_zero(mask));
    TokenLine& line = lines[s];
    QSIM_CHECK(line.taken < line.arrivals.size(),
               command_name(program, unit, index) + " takes a token of semaphore " +
                   std::to_string(s) + " that no command signals");
    const std::uint64_t arrival = line.arrivals[line.taken++];
    if (arrival > last.cycle) last = {arrival, s};
  }
  return last;
}

// The stall before a command: `cycles` cycles that end at its start.
struct Stall {
  std::uint64_t cycles = 0;
  std::size_t semaphore = 0;
};

// Checks every start against the token rules.
std::array<std::vector<Stall>, kUnits> derive_stalls(const Program& program, const Times& times) {
  std::array<TokenLine, kSemaphores> lines = token_lines(program, times);
  std::array<std::vector<Stall>, kUnits> stalls;
  for (std::size_t u = 0; u < kUnits; ++u) {
    std::uint64_t unit_free = 0;
    for (std::size_t i = 0; i < times[u].size(); ++i) {
      const CommandTime& time = times[u][i];
      const LastToken token = take_tokens(program, u, i, lines);
      const std::uint64_t start = std::max(unit_free, token.cycle);
      QSIM_CHECK(time.start == start && time.free >= start && time.done >= time.free,
                 command_name(program, u, i) + " starts at cycle " + std::to_string(time.start) +
                     "; its unit is free at " + std::to_string(unit_free) +
                     " and its last token comes at " + std::to_string(token.cycle));
      stalls[u].push_back({start - unit_free, token.semaphore});
      unit_free = time.free;
    }
  }
  return stalls;
}

std::uint64_t sum(const StallCycles& stalls) {
  return std::accumulate(stalls.begin(), stalls.end(), std::uint64_t{0});
}

UnitAccount account_unit(std::size_t unit, const std::vector<CommandTime>& times,
                         const std::vector<Stall>& stalls, std::uint64_t total) {
  UnitAccount account;
  for (std::size_t i = 0; i < times.size(); ++i) {
    account.busy_cycles += times[i].free - times[i].start;
    account.stall_cycles[stalls[i].semaphore] += stalls[i].cycles;
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

std::vector<LayerAccount> layer_windows(const Program& program, const Times& times) {
  constexpr auto kStore = static_cast<std::size_t>(Unit::kStore);
  std::vector<LayerAccount> layers(program.layers.size());
  for (std::size_t i = 0; i < times[kStore].size(); ++i) {
    layers[layer_of(program, kStore, i)].end_cycle = times[kStore][i].done;
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

// Cycles without a pixel among the first `cycles` cycles of an EXECUTE.
std::uint64_t bubbles_before(const ExecuteTerms& terms, std::uint64_t cycles) {
  const std::uint64_t in_fold = cycles % terms.fold_period;
  return cycles / terms.fold_period * (terms.fold_period - terms.pixels) +
         (in_fold > terms.pixels ? in_fold - terms.pixels : 0);
}

void account_execute(const Program& program, const std::vector<CommandTime>& times,
                     const std::vector<Stall>& stalls, std::uint64_t total,
                     std::vector<LayerAccount>& layers) {
  constexpr auto kExecute = static_cast<std::size_t>(Unit::kExecute);
  const auto pes = static_cast<std::uint64_t>(program.arch.array_rows * program.arch.array_cols);
  std::size_t cursor = 0;
  std::uint64_t unit_free = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const auto execute = program.streams[kExecute].fields<Execute>(i);
    const ExecuteTerms terms = execute_terms(execute, program.arch);
    const std::uint64_t start = times[i].start;
    cut_at_windows(layers, cursor, unit_free, start,
                   [&](LayerAccount& layer, std::uint64_t begin, std::uint64_t end) {
                     layer.stall_cycles[stalls[i].semaphore] += end - begin;
                   });
    cut_at_windows(layers, cursor, start, times[i].free,
                   [&](LayerAccount& layer, std::uint64_t begin, std::uint64_t end) {
                     layer.stream_cycles += end - begin;
                     layer.fold_bubble_cycles +=
                         bubbles_before(terms, end - start) - bubbles_before(terms, begin - start);
                   });
    layers[layer_of(program, kExecute, i)].streamed_macs += terms.folds * terms.pixels * pes;
    unit_free = times[i].free;
  }
  cut_at_windows(layers, cursor, unit_free, total,
                 [](LayerAccount& layer, std::uint64_t begin, std::uint64_t end) {
                   layer.idle_cycles += end - begin;
                 });
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
    for (std::size_t s = 0; s < kSemaphores; ++s) stalls[s] += run.layers[l].stall_cycles[s];
  }
  const UnitAccount& execute = run.units[static_cast<std::size_t>(Unit::kExecute)];
  QSIM_CHECK(cycles == run.total_cycles && stream_cycles == execute.busy_cycles &&
                 stalls == execute.stall_cycles,
             "the layers' cycles do not add up to the run's");
}

}  // namespace

double utilization(std::uint64_t macs, std::uint64_t cycles, const ArchConfig& arch) {
  if (cycles == 0) return 0;
  return static_cast<double>(macs) /
         (static_cast<double>(arch.array_rows * arch.array_cols) * static_cast<double>(cycles));
}

RunAccount account(const Program& program, const Times& times) {
  for (std::size_t u = 0; u < kUnits; ++u) {
    QSIM_CHECK(times[u].size() == program.streams[u].size(),
               std::string(kUnitNames[u]) + " unit has times of " +
                   std::to_string(times[u].size()) + " commands; the program has " +
                   std::to_string(program.streams[u].size()));
  }
  constexpr auto kExecute = static_cast<std::size_t>(Unit::kExecute);
  const auto stalls = derive_stalls(program, times);
  RunAccount run;
  run.layers = layer_windows(program, times);
  run.total_cycles = run.layers.empty() ? 0 : run.layers.back().end_cycle;
  for (std::size_t u = 0; u < kUnits; ++u) {
    run.units[u] = account_unit(u, times[u], stalls[u], run.total_cycles);
  }
  account_execute(program, times[kExecute], stalls[kExecute], run.total_cycles, run.layers);
  account_dram(program, run.layers);
  for (const LayerAccount& layer : run.layers) {
    run.macs += layer.macs;
    run.dram_read_bytes += layer.dram_read_bytes;
    run.dram_write_bytes += layer.dram_write_bytes;
  }
  check_run(program, run);
  return run;
}

}  // namespace qsim
