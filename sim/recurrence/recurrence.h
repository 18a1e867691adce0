// Start, free and done of commands by recurrence, without a simulation: each follows from the
// commands before it in its unit and from the commands whose tokens it takes. One object is one
// accelerator; it has no memories and moves no data. docs/reference/timing_model.md has the rules.
//
//   start = max(free of the unit, done of every command whose token it takes)
//     an EXECUTE whose dataflow differs from that of the EXECUTE before: done of the unit, not free
//   free and done: EXECUTE and POST by core/machine/timing_model.h, LOAD and STORE by
//   dram_recurrence.h
//
// A Recurrence is a value: a copy goes on from the same state. A command costs no allocation,
// except when more tokens of a semaphore wait than ever before.
#pragma once

#include <array>
#include <cstdint>

#include "core/machine/arch_config.h"
#include "core/machine/engine.h"
#include "core/machine/isa/commands.h"
#include "sim/recurrence/dram_recurrence.h"
#include "sim/recurrence/token_lines.h"

namespace qsim::sim {

// Semaphores that a command waits for and signals; see commands.h.
struct TokenMasks {
  std::uint16_t wait = 0;
  std::uint16_t signal = 0;
};

class Recurrence {
 public:
  // `initial`: tokens at cycle 0. `arch` must be valid.
  Recurrence(const ArchConfig& arch, const TokenCounts& initial);

  // Back to cycle 0: all units idle, the DRAM port too, the initial tokens there.
  void reset();

  // The next command of its unit. The units' commands may be mixed in any order in which every
  // token is signalled by a command added before, or is there initially. Throws InternalError when
  // one is not; when a semaphore has two units that signal it or two that wait for it; when it
  // overflows; and when a command would be done before the one before it in its unit.
  CommandTime add(const Command& command);
  CommandTime add(const Load& load, const TokenMasks& tokens);
  CommandTime add(const Execute& execute, const TokenMasks& tokens);
  CommandTime add(const Post& post, const TokenMasks& tokens);
  CommandTime add(const Store& store, const TokenMasks& tokens);

  // Throws InternalError when a semaphore overflows if no further command takes its tokens.
  void check_end() const { tokens_.check_end(); }

  // Whether a command that waits for these semaphores can be added now.
  bool can_add(std::uint16_t wait_mask) const { return tokens_.has_next(wait_mask); }
  // Tokens that the commands have signalled and not taken.
  std::size_t tokens_left(std::size_t semaphore) const { return tokens_.left(semaphore); }

  // When the unit can start its next command (an EXECUTE: of the same dataflow), and when its last
  // one is done; 0 before the first.
  std::uint64_t free_cycle(Unit unit) const { return units_[static_cast<std::size_t>(unit)].free; }
  std::uint64_t done_cycle(Unit unit) const { return units_[static_cast<std::size_t>(unit)].done; }

 private:
  struct UnitState {
    std::uint64_t free = 0;
    std::uint64_t done = 0;
  };

  // `ready`: when the unit can start the command, tokens apart.
  std::uint64_t start_of(Unit unit, std::uint64_t ready, std::uint16_t wait_mask) const;
  CommandTime finish(Unit unit, TokenMasks tokens, std::uint64_t start, std::uint64_t free,
                     std::uint64_t done);

  ArchConfig arch_;                      // without its texts, so that copies are cheap
  std::array<int, 4> load_beat_shifts_;  // log2 of a beat's bytes, by LOAD's `memory`
  int store_beat_shift_;
  std::array<UnitState, kUnits> units_{};
  std::uint32_t dataflow_ = 0;  // of the last EXECUTE
  DramRecurrence reads_;
  DramRecurrence writes_;
  TokenLines tokens_;
};

}  // namespace qsim::sim
