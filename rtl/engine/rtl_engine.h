// The engine that runs a Program on the Verilated RTL (rtl/src): real bytes, the cycles of the
// hardware itself. Finds, builds and loads the model that the program's configuration needs.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/machine/engine.h"
#include "rtl/engine/rtl_harness.h"
#include "rtl/engine/rtl_model.h"

namespace qsim::rtl {

// Cycles [first, last) of every run go to an FST file; a later run overwrites it.
struct RtlTrace {
  std::string path;
  std::uint64_t first = 0;
  std::uint64_t last = kNever;
};

struct RtlEngineOptions {
  RtlModelOptions model;           // its variant is "trace" when a trace is asked for
  std::optional<ArchConfig> arch;  // refuse programs compiled for other hardware than this
  DramSeed dram_seed;              // absent: the deterministic memory, whose cycles are the truth
  // Registers and memories of every run start random from this seed, 1 and more. 0: zero in the
  // first run, and what the run before left in the next.
  std::uint32_t init_seed = 0;
  std::optional<RtlTrace> trace;
  std::uint64_t cycle_limit = 0;  // of a run; 0: none
  // Where the variant "coverage" writes KEY-NUMBER.dat of every core that ran, at the latest when
  // the engine is destroyed; `verilator_coverage` merges them.
  std::string coverage_folder;
};

// A run throws Error (exit code 3) when the model is missing and cannot be built, or when the
// program was compiled for other hardware; Error (exit code 2) for a run without data.
std::unique_ptr<Engine> make_rtl_engine(const RtlEngineOptions& options = {});

}  // namespace qsim::rtl
