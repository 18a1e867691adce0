// What the four units have in common: commands start in order, each when the unit is free and its
// tokens are there, and are done some cycles later. What a command does, and how long it takes, is
// defined by load_unit, execute_unit, post_unit and store_unit.
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <systemc>
#include <vector>

#include "core/machine/dram_memory.h"
#include "core/machine/engine.h"
#include "sim/systemc/datapath/scratchpads.h"
#include "sim/systemc/ofmap_handover.h"
#include "sim/systemc/semaphore_bank.h"

namespace qsim::sim {

// One cycle is 1 ns of SystemC time.
sc_core::sc_time cycles(std::uint64_t count);

// What a run works on; the units share it.
struct RunState {
  const Program* program = nullptr;
  Scratchpads* scratchpads = nullptr;  // null: time only
  DramMemory* dram = nullptr;
  OfmapHandover* handover = nullptr;  // null: ofmaps stay where they are
  std::uint64_t begin = 0;            // cycle of SystemC time at which the run's cycle 0 lies
  std::exception_ptr failure;         // the first; every unit halts on it

  std::uint64_t cycle() const;  // of the run, now
  bool moves_data() const { return scratchpads != nullptr; }
};

class CommandUnit : public sc_core::sc_module {
 public:
  // Takes the stream of the program and starts with the kernel's next delta cycle.
  void begin_run();

  Unit unit() const { return unit_; }
  std::size_t started() const { return next_; }  // commands
  bool has_work() const { return next_ < stream().size(); }
  std::vector<CommandTime>& times() { return times_; }

 protected:
  CommandUnit(const sc_core::sc_module_name& name, Unit unit, RunState& run,
              SemaphoreBank& semaphores);

  const Program& program() const { return *run_.program; }
  CommandStream stream() const { return program().stream(unit_); }
  Scratchpads& scratchpads() { return *run_.scratchpads; }
  DramMemory& dram() { return *run_.dram; }
  OfmapHandover* handover() { return run_.handover; }

  // Called at the start of every run.
  virtual void configure(const ArchConfig& arch) = 0;
  // When a command that starts at `start` frees the unit and is done. Called once a command.
  virtual CommandTime schedule(const Command& command, std::uint64_t start) = 0;
  // When `next` may start, tokens apart, after the command before it, with these times.
  virtual std::uint64_t unit_ready(const Command& next, const CommandTime& before) const;
  // The command's effect on memories, applied at its start or at its done cycle. A program whose
  // tokens order all accesses gives the same bytes either way. LOAD and STORE act when they are
  // done, EXECUTE and POST when they start: an EXECUTE that does not wait for its LOAD then
  // computes on old bytes, a LOAD that does not wait for an ofmap misses it, and a POST that does
  // not wait for its STORE overwrites what is still to be sent.
  virtual void act_at_start(const Command& command);
  virtual void act_at_done(const Command& command);

 private:
  void issue();   // starts the next command
  void retire();  // completes commands that are done
  // Runs `step`; an exception becomes the run's failure and halts every unit, since the kernel
  // must not be left in the middle of a run.
  template <typename Step>
  void guarded(Step step);
  void start_next();
  void decode_next();
  void await_next(const CommandTime& before, std::uint64_t now);

  Unit unit_;
  RunState& run_;
  SemaphoreBank& semaphores_;
  sc_core::sc_event begin_;
  sc_core::sc_event done_;
  std::size_t next_ = 0;            // command to start
  Command next_command_;            // the same, decoded
  std::uint64_t ready_cycle_ = 0;   // when the unit can start it
  bool waited_ = false;             // the command before: for tokens longer than for the unit
  std::size_t oldest_ = 0;          // command in flight to be done first
  std::deque<Command> in_flight_;   // from it on, where data moves
  std::vector<CommandTime> times_;  // of the commands started
};

}  // namespace qsim::sim
