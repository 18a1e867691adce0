#include "cli/session/run/host_time.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "golden/host/host_costs.h"

namespace qsim::cli {
namespace {

std::int64_t node_cycles(const HostNetwork& network, const HostNode& node, const HostConfig& host) {
  const auto operations = static_cast<double>(golden::host_operations(network, node));
  const auto bytes = static_cast<double>(golden::host_bytes(network, node));
  return static_cast<std::int64_t>(
      std::ceil(std::max(operations / host.ops_per_cycle, bytes / host.bytes_per_cycle)));
}

// When values are there, and when host and array are free.
class HostSchedule {
 public:
  HostSchedule(std::size_t values, bool overlap) : ready_(values, 0), overlap_(overlap) {}

  void add(bool is_array, std::span<const HostValueId> inputs, std::span<const HostValueId> outputs,
           std::int64_t cycles) {
    std::int64_t& free = is_array && overlap_ ? array_free_ : host_free_;
    std::int64_t start = free;
    for (const HostValueId id : inputs) {
      if (id != kAbsentValue) start = std::max(start, ready_[id]);
    }
    free = start + cycles;
    end_ = std::max(end_, free);
    for (const HostValueId id : outputs) {
      if (id != kAbsentValue) ready_[id] = free;
    }
  }

  std::int64_t end() const { return end_; }

 private:
  std::vector<std::int64_t> ready_;  // one a value
  bool overlap_;
  std::int64_t host_free_ = 0;  // without overlap of both
  std::int64_t array_free_ = 0;
  std::int64_t end_ = 0;
};

}  // namespace

HostTime estimate_time(const HostedNetwork& hosted, const HostConfig& host,
                       std::span<const std::int64_t> part_cycles) {
  QSIM_CHECK(part_cycles.size() == hosted.parts.size(), "the cycles of each part");
  const HostNetwork& network = hosted.network;
  HostTime time;
  time.estimate.overlap = host.overlap;
  for (const HostStep& step : hosted.host_steps) {
    time.node_cycles.push_back(node_cycles(network, network.nodes[step.node], host));
    time.estimate.host_cycles += time.node_cycles.back();
  }
  HostSchedule schedule(network.values.size(), host.overlap);
  for (const HostedNetwork::Step& step : hosted.steps) {
    if (step.is_array) {
      const ArrayPart& part = hosted.parts[step.index];
      schedule.add(true, {&part.input, 1}, {&part.output, 1}, part_cycles[step.index]);
    } else {
      const HostNode& node = network.nodes[hosted.host_steps[step.index].node];
      schedule.add(false, node.inputs, node.outputs, time.node_cycles[step.index]);
    }
  }
  time.estimate.total_cycles = schedule.end();
  return time;
}

}  // namespace qsim::cli
