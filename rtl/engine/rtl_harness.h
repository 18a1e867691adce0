// Runs one program on one Verilated core, cycle by cycle: feeds the commands, is the memory at the
// DRAM port, notes when commands start, free their unit and are done, and watches that something
// happens. docs/reference/rtl.md has the protocol.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/machine/engine.h"
#include "core/machine/isa/command_codec.h"
#include "rtl/engine/dram_ports.h"

namespace qsim::rtl {

struct RtlHarnessOptions {
  DramSeed dram_seed;             // absent: the deterministic memory
  std::uint64_t cycle_limit = 0;  // more cycles are an InternalError; 0: no limit
};

class RtlHarness {
 public:
  // Resets the core, sets the semaphores, fills the command queues: the next step() is cycle 0.
  // `core`, `program` and `dram` must outlive this object. Throws Error for a command that cannot
  // be encoded.
  RtlHarness(RtlCore& core, const Program& program, DramMemory& dram,
             const RtlHarnessOptions& options);

  // Every command is done and its unit is free.
  bool finished() const { return open_commands_ == 0 && busy_ == 0; }
  // The cycle that the next step() is.
  std::uint64_t cycle() const { return cycle_; }

  // One cycle. Throws InternalError when the core breaks the port's rules, when its assertions
  // fail, or when nothing has happened for longer than any command takes (who waits for what).
  void step() {
    read_port_.drive(cycle_);
    write_port_.drive(cycle_);
    const unsigned taken = static_cast<unsigned>(*ports_.command_ready_o) & *ports_.command_valid_i;
    core_.eval_cycle();
    const unsigned started = *ports_.start_o;
    const unsigned done = *ports_.done_o;
    const unsigned freed = busy_ & *ports_.unit_ready_o;
    if ((started | done | freed) != 0) note(started, done, freed);
    if (taken != 0) feed(taken);
    if (++cycle_ >= deadline_ || *ports_.failed) check_progress();
  }

  // After the last step: checks that the core is idle and that no token or burst is left over, and
  // gives the times. Throws InternalError.
  std::array<std::vector<CommandTime>, kUnits> finish();

 private:
  struct Progress {
    std::size_t fed = 0;
    std::size_t started = 0;
    std::size_t freed = 0;
    std::size_t done = 0;
  };

  void reset();
  void fill_queues();
  void offer(std::size_t unit);  // the unit's next command to its port
  void feed(unsigned taken);
  void note(unsigned started, unsigned done, unsigned freed);
  void check_progress();
  std::string waiting_text() const;

  RtlCore& core_;
  const RtlPorts& ports_;
  const Program& program_;
  RtlHarnessOptions options_;
  ReadPort read_port_;
  WritePort write_port_;
  std::array<Progress, kUnits> progress_;
  std::array<std::vector<CommandTime>, kUnits> times_;
  std::uint64_t cycle_ = 0;
  std::size_t open_commands_ = 0;  // not done
  unsigned busy_ = 0;              // units that have started a command and are not free
  std::uint64_t patience_cycles_;  // longer than any command is silent
  std::uint64_t deadline_ = 0;
  std::uint64_t bursts_seen_ = 0;
};

}  // namespace qsim::rtl
