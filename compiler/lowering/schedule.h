// Turns steps into the four command streams: gives every piece of data a slot, orders the units
// with tokens, and orders the LOADs so that the array finds its data ready.
#pragma once

#include <vector>

#include "compiler/lowering/steps.h"

namespace qsim {

// The compiler's use of the semaphores; docs/reference/isa.md lists who raises and lowers them.
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

  // Appends a layer's commands. `is_last`: no layer follows that would wait for its ofmap.
  void add_layer(std::vector<Step> steps, bool is_last);

 private:
  // Gives slots and tokens to the commands that follow the order of the steps.
  void assign_slots(Step& step);
  void append_execute(const Step& step);
  void append_group_end(const Step& step, bool last_of_layer, bool is_last_layer);
  // LOADs: see schedule.cpp for the order.
  void append_loads(const std::vector<Step>& steps);
  // How many weights go in front of the layer's first activations.
  std::size_t early_weights(const std::vector<Step>& steps) const;
  void append_weight(const Step& step);
  void append_pending_params();
  void append(Unit unit, Command command, const Origin& origin);

  Program& program_;
  const ArchConfig& arch_;
  std::int64_t layers_ = 0;
  std::int64_t acts_ = 0;  // activation chunks so far; their slots go round
  std::int64_t weights_ = 0;
  std::int64_t groups_ = 0;
  std::vector<const Step*> pending_params_;
};

}  // namespace qsim
