// The interface of everything that executes a Program, and what comes out of it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/program.h"

namespace qsim {

struct RunOptions {
  bool move_data = true;   // false: time only, no ofmaps
  std::uint64_t seed = 0;  // for engines that choose an order at random
};

// Cycles of one command; free and done are explained in core/timing_model.h.
struct CommandTime {
  std::uint64_t start = 0;
  std::uint64_t free = 0;
  std::uint64_t done = 0;
  bool operator==(const CommandTime&) const = default;
};

struct RunResult {
  std::vector<Tensor> ofmaps;  // of every program layer, NHWC; empty when no data was moved
  std::array<std::vector<CommandTime>, kUnits> times;  // as Program::streams; empty: no time
  double wall_seconds = 0;                             // the engine alone, on one thread
};

class Engine {
 public:
  virtual ~Engine() = default;
  virtual std::string_view name() const = 0;
  virtual bool has_time() const = 0;
  // `input` is NHWC in the program's input dtype. Throws Error for an input or program that does
  // not fit, InternalError (with who waits for what) for a deadlock or undrained tokens.
  virtual RunResult run(const Program& program, const Tensor& input, const RunOptions& options) = 0;
};

}  // namespace qsim
