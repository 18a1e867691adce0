#include "analysis/layer_edges.h"

#include <algorithm>
#include <bit>

namespace qsim {
namespace {

using Times = std::array<std::vector<CommandTime>, kUnits>;

constexpr auto kExecute = static_cast<std::size_t>(Unit::kExecute);

// When the tokens of each semaphore came, in order; those there from the start come at 0.
std::array<std::vector<std::uint64_t>, kSemaphores> arrivals_of(const Program& program,
                                                                const Times& times) {
  std::array<std::vector<std::uint64_t>, kSemaphores> arrivals;
  for (std::size_t s = 0; s < kSemaphores; ++s) {
    arrivals[s].assign(program.semaphores[s].initial, 0);
  }
  for (std::size_t u = 0; u < kUnits; ++u) {
    for (std::size_t i = 0; i < times[u].size(); ++i) {
      for (unsigned mask = program.streams[u].signal_mask(i); mask != 0; mask &= mask - 1) {
        arrivals[static_cast<std::size_t>(std::countr_zero(mask))].push_back(times[u][i].done);
      }
    }
  }
  return arrivals;
}

// For each EXECUTE the semaphore whose token it took last.
std::vector<std::size_t> last_tokens(const Program& program, const Times& times) {
  const auto arrivals = arrivals_of(program, times);
  std::array<std::size_t, kSemaphores> taken{};
  std::vector<std::size_t> last_of;
  const CommandStream executes = program.streams[kExecute];
  last_of.reserve(executes.size());
  for (std::size_t i = 0; i < executes.size(); ++i) {
    std::size_t last = 0;
    std::uint64_t last_cycle = 0;
    for (unsigned mask = executes.wait_mask(i); mask != 0; mask &= mask - 1) {
      const auto s = static_cast<std::size_t>(std::countr_zero(mask));
      const std::uint64_t cycle = arrivals[s].at(taken[s]++);
      if (cycle > last_cycle) last = s;
      last_cycle = std::max(last_cycle, cycle);
    }
    last_of.push_back(last);
  }
  return last_of;
}

std::uint64_t overlap(const LayerAccount& layer, std::uint64_t begin, std::uint64_t end) {
  const std::uint64_t from = std::max(layer.begin_cycle, begin);
  const std::uint64_t to = std::min(layer.end_cycle, end);
  return to > from ? to - from : 0;
}

}  // namespace

LayerWaits layer_waits(const LayerAccount& account, const LayerEdges& edges) {
  LayerWaits waits;
  waits.drain_cycles = account.idle_cycles;
  for (std::size_t s = 0; s < kSemaphores; ++s) {
    waits.stalls[s] = account.stall_cycles[s] - edges.start[s] - edges.drain[s];
    waits.start_cycles += edges.start[s];
    waits.drain_cycles += edges.drain[s];
  }
  return waits;
}

std::vector<LayerEdges> layer_edges(const Program& program, const Times& times,
                                    const RunAccount& account) {
  const std::vector<std::size_t> last = last_tokens(program, times);
  const CommandStream executes = program.streams[kExecute];
  std::vector<LayerEdges> edges(account.layers.size());
  for (std::size_t i = 0; i < executes.size(); ++i) {
    const auto layer = static_cast<std::size_t>(executes.origin(i).layer);
    if (i > 0 && executes.origin(i - 1).layer == executes.origin(i).layer) continue;
    const std::uint64_t waits_from = i == 0 ? 0 : times[kExecute][i - 1].free;
    const std::uint64_t start = times[kExecute][i].start;
    for (std::size_t l = 0; l <= layer; ++l) {
      const std::uint64_t cycles = overlap(account.layers[l], waits_from, start);
      (l == layer ? edges[l].start : edges[l].drain)[last[i]] += cycles;
    }
  }
  for (std::size_t l = 0; l < edges.size(); ++l) {
    for (std::size_t s = 0; s < kSemaphores; ++s) {
      QSIM_CHECK(edges[l].start[s] + edges[l].drain[s] <= account.layers[l].stall_cycles[s],
                 "layer '" + program.layers[l].name + "' waits longer at its edges than in all");
    }
  }
  return edges;
}

}  // namespace qsim
