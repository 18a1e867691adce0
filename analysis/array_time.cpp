#include "analysis/array_time.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace qsim {
namespace {

struct StallWords {
  const char* semaphore;
  const char* words;
};

constexpr StallWords kStallWords[] = {
    {"act_ready", "waiting for activations"},
    {"act_free", "waiting for a free activation slot"},
    {"weight_ready", "waiting for weights"},
    {"weight_free", "waiting for a free weight slot"},
    {"param_ready", "waiting for parameters"},
    {"param_free", "waiting for a free parameter slot"},
    {"acc_ready", "waiting for psums"},
    {"acc_free", "waiting for a free accumulator half"},
    {"out_ready", "waiting for output words"},
    {"out_free", "waiting for a free output half"},
    {"ofmap_done", "waiting for the previous ofmap"},
};

void add_part(std::vector<ArrayTimePart>& parts, std::string id, std::string title,
              std::string label, std::uint64_t pe_cycles) {
  if (pe_cycles == 0) return;
  parts.push_back({std::move(id), std::move(title), std::move(label), pe_cycles});
}

}  // namespace

std::string stall_label(const std::string& semaphore) {
  for (const StallWords& row : kStallWords) {
    if (semaphore == row.semaphore) return row.words;
  }
  return "waiting for " + semaphore;
}

LayerAccount sum_of_layers(const RunAccount& account) {
  LayerAccount sum;
  sum.end_cycle = account.total_cycles;
  for (const LayerAccount& layer : account.layers) {
    sum.stream_cycles += layer.stream_cycles;
    sum.fold_bubble_cycles += layer.fold_bubble_cycles;
    for (std::size_t s = 0; s < kSemaphores; ++s) sum.stall_cycles[s] += layer.stall_cycles[s];
    sum.idle_cycles += layer.idle_cycles;
    sum.macs += layer.macs;
    sum.streamed_macs += layer.streamed_macs;
    sum.dram_read_bytes += layer.dram_read_bytes;
    sum.dram_write_bytes += layer.dram_write_bytes;
  }
  return sum;
}

LayerEdges sum_of_edges(const std::vector<LayerEdges>& edges) {
  LayerEdges sum;
  for (const LayerEdges& layer : edges) {
    for (std::size_t s = 0; s < kSemaphores; ++s) {
      sum.start[s] += layer.start[s];
      sum.drain[s] += layer.drain[s];
    }
  }
  return sum;
}

std::vector<ArrayTimePart> array_time(const Program& program, const LayerAccount& account,
                                      const LayerEdges& edges) {
  const auto pes = static_cast<std::uint64_t>(program.arch.array_rows * program.arch.array_cols);
  QSIM_CHECK(account.streamed_macs >= account.macs, "more useful MACs than the array streamed");
  std::vector<ArrayTimePart> parts;
  parts.push_back({"useful", "useful", "useful MACs", account.macs});
  add_part(parts, "edge_lanes", "idle lanes", "idle rows and columns of the array",
           account.streamed_macs - account.macs);
  add_part(parts, "fold_bubbles", "bubbles", "folds with fewer pixels than rows",
           account.fold_bubble_cycles * pes);
  const LayerWaits waits = layer_waits(account, edges);
  for (std::size_t s = 0; s < kSemaphores; ++s) {
    const std::string& name = program.semaphores[s].name;
    add_part(parts, "stall_" + name, name, stall_label(name), waits.stalls[s] * pes);
  }
  add_part(parts, "start", "start", "layer start: its first activations and weights are loaded",
           waits.start_cycles * pes);
  add_part(parts, "drain", "drain", "layer end: its last psums drain and are stored",
           waits.drain_cycles * pes);
  std::uint64_t sum = 0;
  for (const ArrayTimePart& part : parts) sum += part.pe_cycles;
  QSIM_CHECK(sum == account.cycles() * pes, "array time: the parts are " + std::to_string(sum) +
                                                " PE-cycles of " +
                                                std::to_string(account.cycles() * pes));
  return parts;
}

std::vector<std::int64_t> tenths_of_percent(const std::vector<ArrayTimePart>& parts) {
  double total = 0;
  for (const ArrayTimePart& part : parts) total += static_cast<double>(part.pe_cycles);
  std::vector<std::int64_t> tenths(parts.size(), 0);
  if (total <= 0) return tenths;
  std::vector<double> rest(parts.size());
  std::int64_t left = 1000;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const double exact = 1000.0 * static_cast<double>(parts[i].pe_cycles) / total;
    tenths[i] = static_cast<std::int64_t>(i == 0 ? std::round(exact) : std::floor(exact));
    rest[i] = exact - static_cast<double>(tenths[i]);
    left -= tenths[i];
  }
  // Rounding part 0 takes at most half a tenth from the others: 0 <= left <= their number.
  std::vector<std::size_t> order(parts.size() - 1);
  std::iota(order.begin(), order.end(), std::size_t{1});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return rest[a] > rest[b]; });
  for (std::size_t i = 0; i < order.size() && left > 0; ++i, --left) ++tenths[order[i]];
  return tenths;
}

}  // namespace qsim
