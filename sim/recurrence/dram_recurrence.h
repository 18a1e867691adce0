// When the transfers of one direction of the DRAM port are over, as closed forms. It has the rules
// of docs/reference/timing_model.md and nothing of core/machine/dram_channel.*, which steps from
// burst to burst, so that each is a witness of the other.
//
// For burst i, with b its beats, N = outstanding_bursts and L = dram_latency_cycles:
//   free_i = max(start of its command, free_{i-1}, done_{i-N}) + b_i,   done_i = free_i + L
// The state is free_i of the last burst and the bursts in flight: those whose done is after it. No
// other burst can delay a later one.
#pragma once

#include <cstdint>
#include <vector>

#include "core/machine/arch_config.h"

namespace qsim::sim {

class DramRecurrence {
 public:
  explicit DramRecurrence(const ArchConfig& arch);

  // To the idle port at cycle 0.
  void reset();

  struct Times {
    std::uint64_t free = 0;  // the unit's next command may start
    std::uint64_t done = 0;  // the last burst is done
  };
  // `runs` runs of `run_beats` beats each, for a command that starts at `start`, which is not
  // before the free of the transfer before it. The cost grows with outstanding_bursts and not with
  // the number of bursts, except for runs of unequal bursts that wait for the latency until their
  // times begin to repeat.
  Times transfer(std::uint64_t start, std::uint64_t runs, std::uint64_t run_beats);

  // How often a transfer went on by a burst or by a block of bursts at once: its cost, for tests.
  std::uint64_t steps() const { return steps_; }

 private:
  // `full` bursts of burst_beats beats, then one of `rest` beats.
  struct Run {
    std::uint64_t full = 0;
    std::uint64_t rest = 0;
  };

  void issue_equal(std::uint64_t bursts, std::uint64_t beats);
  void issue_runs(std::uint64_t runs, const Run& run);
  void issue_run(const Run& run);
  void issue(std::uint64_t beats);

  void stream_equal(std::uint64_t bursts, std::uint64_t beats);
  void stream_runs(std::uint64_t runs, const Run& run);

  // Whether the bursts in flight, n of them, delay none of the next when the port streams these:
  // the last is done by the time that the next N - n bursts have streamed, which is `beats`. Enough
  // for it, but not needed.
  bool delay_none(std::uint64_t beats) const { return count_ == 0 || last() <= port_free_ + beats; }
  // Whether no burst of runs waits for a burst of the same runs, and for one that is in flight.
  bool streams_when_alone(const Run& run) const;
  bool streams_from_here(const Run& run) const;
  std::uint64_t first_beats(std::uint64_t bursts, const Run& run) const;
  std::uint64_t least_beats(std::uint64_t bursts, const Run& run) const;

  // The bursts in flight, oldest first: when they are done.
  std::uint64_t first() const { return in_flight_[oldest_ & mask_]; }
  std::uint64_t last() const { return in_flight_[(oldest_ + count_ - 1) & mask_]; }
  void push(std::uint64_t done) { in_flight_[(oldest_ + count_++) & mask_] = done; }
  void pop();
  void forget_done();
  void shift(std::uint64_t cycles);  // of the whole state

  // The state at the end of a run, to find the one at which times begin to repeat.
  void save();
  bool equals_saved() const;

  std::uint64_t latency_;
  std::uint64_t burst_beats_;
  std::uint64_t outstanding_;
  std::uint64_t full_in_flight_;  // full bursts that stream within the latency
  std::uint64_t port_free_ = 0;
  std::vector<std::uint64_t> in_flight_;  // ring; its size is a power of two
  std::uint64_t mask_;
  std::uint64_t oldest_ = 0;
  std::uint64_t count_ = 0;
  std::vector<std::uint64_t> saved_;  // done - port_free_ of each burst in flight
  std::uint64_t saved_count_ = 0;
  std::uint64_t saved_port_free_ = 0;
  std::uint64_t steps_ = 0;
};

}  // namespace qsim::sim
