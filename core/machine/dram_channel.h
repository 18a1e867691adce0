// When a DRAM transfer is over: the one deterministic timing model that the SystemC engine and
// the RTL harness share. One object is one direction (read or write); they are independent.
//
// A run is cut into bursts of at most burst_beats beats. For burst i of the channel's life:
//   issue_i = max(start of its command, issue_{i-1} + beats_{i-1}, done_{i-outstanding})
//   done_i  = issue_i + beats_i + latency
// The command frees its unit when its last burst has been issued and streamed, and is done when
// its last burst is done.
#pragma once

#include <cstdint>
#include <vector>

#include "core/machine/arch_config.h"
#include "core/machine/isa/commands.h"

namespace qsim {

// What a command asks of a channel: `runs` runs of `run_beats` beats each.
struct DramTransfer {
  std::uint64_t runs = 0;
  std::uint64_t run_beats = 0;
  std::uint64_t bytes = 0;  // in all
};

struct DramTimes {
  std::uint64_t free = 0;  // the unit's next command may start
  std::uint64_t done = 0;  // the data is there (read) or the write response has come back
};

// A beat moves min(bus_bytes, bytes of a word of the memory at the other end); parameters have
// no word and take the whole bus.
DramTransfer dram_transfer(const Load& load, const ArchConfig& arch);
DramTransfer dram_transfer(const Store& store, const ArchConfig& arch);

class DramChannel {
 public:
  explicit DramChannel(const ArchConfig& arch);

  // Burst by burst, as a memory sees them: the first cycle in which one may be issued, and when one
  // of `beats` beats that is issued in `cycle` is done. Cycles never go back.
  std::uint64_t earliest_issue() const { return earliest_issue_; }
  std::uint64_t issue(std::uint64_t cycle, std::uint64_t beats);

  // Schedules the transfer of a command that starts at `start`; calls come in program order.
  DramTimes schedule(std::uint64_t start, const DramTransfer& transfer);

 private:
  std::uint64_t latency_;
  std::uint64_t burst_beats_;
  std::vector<std::uint64_t> done_;  // ring: when the last `outstanding` bursts are done
  std::size_t oldest_ = 0;
  std::uint64_t port_free_ = 0;       // issue + beats of the last burst
  std::uint64_t earliest_issue_ = 0;  // of the next: max(port_free_, done_[oldest_])
};

}  // namespace qsim
