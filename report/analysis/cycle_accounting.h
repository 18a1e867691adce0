// Where the cycles of a run went: every cycle of every unit is busy, stalled on a named cause,
// or idle, and the parts add up to the total. It works on any engine's command times, and also
// checks them against the rules of starts.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "report/analysis/critical_path.h"

namespace qsim::report {

using StallCycles = std::array<std::uint64_t, kStallCauses>;  // by semaphore number, kSwitchStall

// The semaphore's name; "dataflow_switch".
std::string stall_name(const Program& program, std::size_t cause);

struct UnitAccount {
  std::uint64_t busy_cycles = 0;  // sum of occupancies
  StallCycles stall_cycles{};     // a command waits; charged to what came last
  std::uint64_t idle_cycles = 0;  // no command left
};

// In which cycles of a window a unit is occupied, whichever layer the command belongs to.
struct BusyCycles {
  std::array<std::uint64_t, kUnits> units{};
  std::array<std::uint64_t, kLoadMemories> loads{};  // of the load unit, by LoadMemory
  // The part of `units` in which a LOAD or STORE moves no beat, because all outstanding_bursts are
  // in flight (report/analysis/channel_waits.h).
  std::array<std::uint64_t, kUnits> waits{};
};

// The window of a layer runs from the previous layer's last STORE done to its own, so that layers
// add up to the total. The cycles are those of the execute unit within the window:
//   cycles() = stream_cycles + sum of stall_cycles + idle_cycles
struct LayerAccount {
  std::uint64_t begin_cycle = 0;
  std::uint64_t end_cycle = 0;
  std::uint64_t stream_cycles = 0;       // execute unit occupied
  std::uint64_t fold_bubble_cycles = 0;  // of stream_cycles: ExecuteTerms::bubble()
  StallCycles stall_cycles{};
  std::uint64_t idle_cycles = 0;
  std::uint64_t macs = 0;           // useful
  std::uint64_t streamed_macs = 0;  // of every PE while pixels streamed, edge lanes included
  std::uint64_t dram_read_bytes = 0;
  std::uint64_t dram_write_bytes = 0;
  BusyCycles busy;
  LayerPath path;

  std::uint64_t cycles() const { return end_cycle - begin_cycle; }
};

struct RunAccount {
  std::uint64_t total_cycles = 0;  // the last STORE's done
  std::array<UnitAccount, kUnits> units;
  StartCauses causes;
  std::vector<LayerAccount> layers;
  std::uint64_t macs = 0;
  std::uint64_t dram_read_bytes = 0;
  std::uint64_t dram_write_bytes = 0;
};

// The windows of all layers as one.
LayerAccount sum_of_layers(const RunAccount& account);

// macs / (PEs x cycles); 0 for no cycles.
double utilization(std::uint64_t macs, std::uint64_t cycles, const ArchConfig& arch);

// The share of a layer's cycles in which its limiter's unit is occupied. A dependence has no unit:
// its share of the critical path counts.
double limiter_busy(const LayerAccount& layer);

// Throws InternalError when a command starts at any cycle but that of start_causes.h, when the
// parts of a unit or layer do not add up, when a byte of DRAM traffic is not attributed to a layer,
// or when utilization exceeds 1.
RunAccount account(const Program& program, const CommandTimes& times);

}  // namespace qsim::report
