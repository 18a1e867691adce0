// Turns steps into the four command streams: gives every piece of data a slot, orders the units
// with tokens, and orders the LOADs so that the array finds its data ready.
#pragma once

#include <deque>
#include <vector>

#include "compiler/lowering/steps.h"

namespace qsim {

// The compiler's use of the semaphores; docs/reference/isa.md lists which unit raises and lowers
// each.
enum class Token : std::uint8_t {
  kActReady,     // LOAD -> EXECUTE: an activation slot is filled
  kActFree,      // EXECUTE -> LOAD: it has been read for the last time
  kWeightReady,  // LOAD -> EXECUTE
  kWeightFree,   // EXECUTE -> LOAD
  kParamReady,   // LOAD -> POST
  kParamFree,    // POST -> LOAD
  kAccReady,     // EXECUTE -> POST: an accumulator half holds complete psums
  kAccFree,      // POST -> EXECUTE
  kOutReady,     // POST -> STORE: an output half is filled
  kOutFree,      // STORE -> POST
  kOfmapDone,    // STORE -> LOAD: a layer's ofmap is in DRAM
};

// Names and initial values of the semaphores that the tokens use.
std::array<Semaphore, kSemaphores> token_semaphores(const ArchConfig& arch);

class Schedule {
 public:
  explicit Schedule(Program& program) : program_(program), arch_(program.arch) {}

  // Takes a layer's steps, in order. Commands are appended a few steps later, at the latest at the
  // layer's end. Throws Error (exit code 4) for a command beyond its 256 bits.
  void add(Step step);
  // `is_last`: no layer follows that would wait for this one's ofmap. Throws as add().
  void end_layer(bool is_last);

 private:
  // Loads that wait for their place in the order.
  struct PendingParam {
    Load load;
    Origin origin;
  };

  // Gives slots and tokens to the commands that follow the order of the steps.
  void assign_slots(Step& step);
  // All commands of the first held step, but its weights where they went ahead. `announces`: its
  // STORE is the layer's last, and another layer waits for it.
  void append_first_held(bool announces);
  void append_execute(const Step& step);
  void append_group_end(const Step& step, bool announces);
  // LOADs: see schedule.cpp for the order.
  void append_loads(const Step& step);
  // How many weights are loaded before a layer's first activations, if it has that many.
  std::size_t early_weights(const Step& first) const;
  void append_weight(const Step& step);
  void append_pending_params();
  void append(const Command& command, const Origin& origin);

  Program& program_;
  const ArchConfig& arch_;
  std::int64_t layers_ = 0;
  std::deque<Step> held_;          // of this layer, with slots, their commands not yet appended
  std::size_t steps_ = 0;          // of this layer, taken
  std::size_t appended_ = 0;       // of this layer, no longer held
  std::size_t early_weights_ = 0;  // of this layer
  std::int64_t acts_ = 0;          // activation chunks so far; their slots go round
  std::int64_t weights_ = 0;
  std::int64_t groups_ = 0;
  std::vector<PendingParam> pending_params_;
};

}  // namespace qsim
