#include "sim/recurrence/recurrence_engine.h"

#include <chrono>

#include "core/base/engine_names.h"
#include "core/base/error.h"
#include "sim/recurrence/program_times.h"

namespace qsim::sim {
namespace {

class RecurrenceEngine : public Engine {
 public:
  std::string_view name() const override { return kRecurrenceEngine; }
  bool has_time() const override { return true; }
  bool has_data() const override { return false; }

  RunResult run(const Program& program, const Tensor&, const RunOptions& options) override {
    QSIM_CHECK(!options.move_data, "the recurrence engine computes times and no data");
    using Clock = std::chrono::steady_clock;
    const Clock::time_point begin = Clock::now();
    RunResult result;
    result.times = command_times(program);
    result.wall_seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    return result;
  }
};

}  // namespace

std::unique_ptr<Engine> make_recurrence_engine() { return std::make_unique<RecurrenceEngine>(); }

}  // namespace qsim::sim
