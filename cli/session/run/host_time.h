// An estimate of the time of a network with a host, by the rates of the configuration's host.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/machine/host_config.h"
#include "core/network/hosted_network.h"
#include "report/run_report.h"

namespace qsim::cli {

struct HostTime {
  std::vector<std::int64_t> node_cycles;  // one for each of HostedNetwork::host_steps
  report::HostEstimate estimate;
};

// `part_cycles` has the array's cycles of each part. A node takes max(operations / ops_per_cycle,
// bytes / bytes_per_cycle) cycles, rounded up; what has no known shape takes none. Steps begin in
// their order: without overlap after the step before; with it, on host and array each after its own
// step before, when all that the step reads is there.
HostTime estimate_time(const HostedNetwork& hosted, const HostConfig& host,
                       std::span<const std::int64_t> part_cycles);

}  // namespace qsim::cli
