// The interface of everything that executes a Program, and what comes out of it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/machine/dram_memory.h"
#include "core/machine/program.h"

namespace qsim {

struct RunOptions {
  bool move_data = true;   // false: time only, no ofmaps
  std::uint64_t seed = 0;  // for engines that choose an order at random
  // Called once for each program layer, as early as the engine can, at the latest at the end of the
  // run; in any order. RunResult::ofmaps is empty then, and the engine may drop what it no longer
  // needs of DRAM. A run that fails may have handed some over. Empty: ofmaps come in RunResult.
  TakeOfmap take_ofmap = {};
};

// Cycles of one command; free and done are explained in core/machine/timing_model.h.
struct CommandTime {
  std::uint64_t start = 0;
  std::uint64_t free = 0;
  std::uint64_t done = 0;
  bool operator==(const CommandTime&) const = default;
};

// The times of all commands, indexed as Program::streams.
using CommandTimes = std::array<std::vector<CommandTime>, kUnits>;

struct RunResult {
  // One for each program layer, NHWC; empty when no data was moved, or with
  // RunOptions::take_ofmap.
  std::vector<Tensor> ofmaps;
  CommandTimes times;  // empty: no time
  // Absent when no data was moved, and for the rtl engine, whose port sees only beats.
  std::optional<DramTraffic> dram_traffic;
  // The engine alone, on one thread: without what RunOptions::take_ofmap does.
  double wall_seconds = 0;
};

class Engine {
 public:
  virtual ~Engine() = default;
  virtual std::string_view name() const = 0;
  virtual bool has_time() const = 0;
  // Whether it can move data. An engine that cannot has time, and runs with move_data = false only.
  virtual bool has_data() const { return true; }
  // `input` is NHWC in the program's input dtype. Throws Error for an input or program that does
  // not fit, InternalError (with who waits for what) for a deadlock or undrained tokens.
  virtual RunResult run(const Program& program, const Tensor& input, const RunOptions& options) = 0;
};

// For an engine that does not hand ofmaps over by itself: what does it, and how long it takes.
class TimedTake {
 public:
  explicit TimedTake(const TakeOfmap& take);  // which must outlive this object
  TimedTake(const TimedTake&) = delete;
  TimedTake& operator=(const TimedTake&) = delete;
  const TakeOfmap& take() const { return take_; }
  double seconds() const { return seconds_; }

 private:
  double seconds_ = 0;
  TakeOfmap take_;
};

// The same at the end of a run: hands all ofmaps over that have not been overwritten, or puts all
// of them into `result`, as `options` say.
void deliver_ofmaps(const Program& program, const DramMemory& dram, const RunOptions& options,
                    RunResult& result);

}  // namespace qsim
