#include "report/analysis/layer_edges.h"

#include <algorithm>

namespace qsim::report {
namespace {

std::uint64_t overlap(const LayerAccount& layer, std::uint64_t begin, std::uint64_t end) {
  const std::uint64_t from = std::max(layer.begin_cycle, begin);
  const std::uint64_t to = std::min(layer.end_cycle, end);
  return to > from ? to - from : 0;
}

}  // namespace

LayerWaits layer_waits(const LayerAccount& account, const LayerEdges& edges) {
  LayerWaits waits;
  waits.drain_cycles = account.idle_cycles;
  for (std::size_t s = 0; s < kStallCauses; ++s) {
    waits.stalls[s] = account.stall_cycles[s] - edges.start[s] - edges.drain[s];
    waits.start_cycles += edges.start[s];
    waits.drain_cycles += edges.drain[s];
  }
  return waits;
}

LayerEdges sum_of_edges(const std::vector<LayerEdges>& edges) {
  LayerEdges sum;
  for (const LayerEdges& layer : edges) {
    for (std::size_t s = 0; s < kStallCauses; ++s) {
      sum.start[s] += layer.start[s];
      sum.drain[s] += layer.drain[s];
    }
  }
  return sum;
}

std::vector<LayerEdges> layer_edges(const Program& program, const CommandTimes& times,
                                    const RunAccount& account) {
  const CommandStream executes = program.streams[kExecuteUnit];
  std::vector<LayerEdges> edges(account.layers.size());
  for (std::size_t i = 0; i < executes.size(); ++i) {
    const auto layer = static_cast<std::size_t>(executes.origin(i).layer);
    if (i > 0 && executes.origin(i - 1).layer == executes.origin(i).layer) continue;
    const std::uint64_t waits_from = i == 0 ? 0 : times[kExecuteUnit][i - 1].free;
    const std::uint64_t start = times[kExecuteUnit][i].start;
    for (std::size_t l = 0; l <= layer; ++l) {
      const std::uint64_t cycles = overlap(account.layers[l], waits_from, start);
      (l == layer ? edges[l].start : edges[l].drain)[account.causes[kExecuteUnit][i].semaphore] +=
          cycles;
    }
  }
  for (std::size_t l = 0; l < edges.size(); ++l) {
    for (std::size_t s = 0; s < kStallCauses; ++s) {
      QSIM_CHECK(edges[l].start[s] + edges[l].drain[s] <= account.layers[l].stall_cycles[s],
                 "layer '" + program.layers[l].name + "' waits longer at its edges than in all");
    }
  }
  return edges;
}

}  // namespace qsim::report
