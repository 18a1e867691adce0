// When a DRAM channel waits within a command: it streams no beat, because as many bursts as may be
// outstanding are in flight. The RTL and the SystemC model count these cycles as occupied; what
// they wait for is the latency of DRAM.
#pragma once

#include <span>
#include <vector>

#include "core/machine/engine.h"

namespace qsim::report {

struct CycleInterval {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

class ChannelWaits {
 public:
  // `unit` is load or store; `times` are those of its commands, by any engine. Follows the
  // recurrence of core/machine/dram_channel.h, burst by burst.
  ChannelWaits(const Program& program, Unit unit, const std::vector<CommandTime>& times);

  // Ascending, within the command's [start, free).
  std::span<const CycleInterval> of(std::size_t command) const;

 private:
  std::vector<CycleInterval> waits_;
  std::vector<std::size_t> first_;  // by command, in waits_; one more at the end
};

}  // namespace qsim::report
