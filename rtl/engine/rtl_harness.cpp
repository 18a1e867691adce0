#include "rtl/engine/rtl_harness.h"

#include <algorithm>
#include <bit>

#include "core/machine/timing_model.h"
#include "core/machine/who_waits.h"

namespace qsim::rtl {
namespace {

constexpr int kResetCycles = 2;
constexpr int kMostFillCycles = 64;  // the queues hold four commands each
constexpr std::uint64_t kSlackCycles = 2000;

// No command but an EXECUTE or POST is silent for long: LOAD and STORE issue bursts.
std::uint64_t patience_for(const Program& program) {
  std::uint64_t longest = 0;
  for (const Instruction& instruction : program.stream(Unit::kExecute)) {
    const auto& execute = std::get<Execute>(instruction.command.fields);
    longest = std::max(longest, execute_terms(execute, program.arch).duration().latency);
  }
  for (const Instruction& instruction : program.stream(Unit::kPost)) {
    const auto& post = std::get<Post>(instruction.command.fields);
    longest = std::max(longest, post_duration(post, program.arch).latency);
  }
  const auto latency = static_cast<std::uint64_t>(program.arch.dram_latency_cycles);
  const auto beats = static_cast<std::uint64_t>(program.arch.burst_beats);
  // A burst with random delays: up to three latencies a beat.
  return longest + kSlackCycles + 4 * latency * (beats + 1);
}

template <typename Visit>
void for_each_unit(unsigned mask, Visit visit) {
  for (; mask != 0; mask &= mask - 1) visit(static_cast<std::size_t>(std::countr_zero(mask)));
}

}  // namespace

RtlHarness::RtlHarness(RtlCore& core, const Program& program, DramMemory& dram,
                       const RtlHarnessOptions& options)
    : core_(core),
      ports_(core.ports()),
      program_(program),
      options_(options),
      read_port_(ports_, program, dram, options.dram_seed),
      write_port_(ports_, program, dram, options.dram_seed),
      patience_cycles_(patience_for(program)) {
  for (std::size_t u = 0; u < kUnits; ++u) {
    times_[u].resize(program.streams[u].size());
    open_commands_ += program.streams[u].size();
  }
  reset();
  fill_queues();
  *ports_.enable_i = 1;
  core_.settle();
  core_.begin_cycles();
  check_progress();
}

void RtlHarness::reset() {
  *ports_.enable_i = 0;
  *ports_.command_valid_i = 0;
  *ports_.read_request_ready_i = 0;
  *ports_.read_data_valid_i = 0;
  *ports_.write_request_ready_i = 0;
  *ports_.write_done_i = 0;
  *ports_.rst_ni = 0;
  for (int i = 0; i < kResetCycles; ++i) core_.eval_cycle();
  *ports_.rst_ni = 1;
  std::uint64_t values = 0;
  for (std::size_t s = 0; s < kSemaphores; ++s) {
    values |= std::uint64_t{program_.semaphores[s].initial} << (kSemaphoreBits * s);
  }
  *ports_.semaphore_init_i = values;
  *ports_.semaphore_init_valid_i = 1;
  core_.eval_cycle();
  *ports_.semaphore_init_valid_i = 0;
}

void RtlHarness::fill_queues() {
  for (std::size_t u = 0; u < kUnits; ++u) offer(u);
  for (int i = 0; i < kMostFillCycles; ++i) {
    const unsigned taken = static_cast<unsigned>(*ports_.command_ready_o) & *ports_.command_valid_i;
    core_.eval_cycle();
    if (taken == 0) return;
    feed(taken);
  }
}

void RtlHarness::offer(std::size_t unit) {
  const CommandStream stream = program_.streams[unit];
  const std::size_t next = progress_[unit].fed;
  const auto bit = static_cast<std::uint8_t>(1u << unit);
  if (next == stream.size()) {
    *ports_.command_valid_i = static_cast<std::uint8_t>(*ports_.command_valid_i & ~bit);
    return;
  }
  const EncodedCommand& command = stream.encoded(next);
  std::copy(command.begin(), command.end(), ports_.command_i + command.size() * unit);
  *ports_.command_valid_i = static_cast<std::uint8_t>(*ports_.command_valid_i | bit);
}

void RtlHarness::feed(unsigned taken) {
  for_each_unit(taken, [this](std::size_t unit) {
    ++progress_[unit].fed;
    offer(unit);
  });
}

// A unit may end one command and start the next in one cycle: free comes before start.
void RtlHarness::note(unsigned started, unsigned done, unsigned freed) {
  const auto check = [&](bool right, std::size_t unit, const char* what) {
    QSIM_CHECK(right, "cycle " + std::to_string(cycle_) + ": " + std::string(kUnitNames[unit]) +
                          " " + what);
  };
  busy_ &= ~freed;
  for_each_unit(freed, [&](std::size_t unit) {
    Progress& progress = progress_[unit];
    times_[unit][progress.freed++].free = cycle_;
  });
  for_each_unit(started, [&](std::size_t unit) {
    Progress& progress = progress_[unit];
    check(progress.started < progress.fed, unit, "starts a command that it was not given");
    check(((busy_ >> unit) & 1) == 0, unit, "starts a command and is not free");
    times_[unit][progress.started++].start = cycle_;
  });
  busy_ |= started;
  for_each_unit(done, [&](std::size_t unit) {
    Progress& progress = progress_[unit];
    check(progress.done < progress.started, unit, "is done with a command that has not started");
    times_[unit][progress.done++].done = cycle_;
    --open_commands_;
  });
  deadline_ = cycle_ + patience_cycles_;
  if (options_.cycle_limit != 0) deadline_ = std::min(deadline_, options_.cycle_limit);
}

std::string RtlHarness::waiting_text() const {
  std::array<UnitProgress, kUnits> progress;
  for (std::size_t u = 0; u < kUnits; ++u) {
    progress[u] = {progress_[u].started, progress_[u].done};
  }
  return who_waits(program_, progress) +
         "\n  open bursts: " + std::to_string(read_port_.open_bursts()) + " read, " +
         std::to_string(write_port_.open_bursts()) + " written";
}

void RtlHarness::check_progress() {
  QSIM_CHECK(!*ports_.failed, "the RTL reports a failure in cycle " + std::to_string(cycle_) +
                                  ":\n" + core_.messages());
  if (finished()) return;
  QSIM_CHECK(options_.cycle_limit == 0 || cycle_ < options_.cycle_limit,
             "the limit of " + std::to_string(options_.cycle_limit) + " cycles is reached" +
                 waiting_text());
  const std::uint64_t bursts = read_port_.bursts() + write_port_.bursts();
  QSIM_CHECK(cycle_ == 0 || bursts != bursts_seen_ || cycle_ < deadline_,
             "nothing has happened for " + std::to_string(patience_cycles_) + " cycles, at cycle " +
                 std::to_string(cycle_) + waiting_text());
  bursts_seen_ = bursts;
  deadline_ = cycle_ + patience_cycles_;
  if (options_.cycle_limit != 0) deadline_ = std::min(deadline_, options_.cycle_limit);
}

std::array<std::vector<CommandTime>, kUnits> RtlHarness::finish() {
  QSIM_CHECK(finished(), "the run is not over");
  core_.eval_cycle();
  QSIM_CHECK(*ports_.idle_o != 0 && *ports_.start_o == 0 && *ports_.done_o == 0,
             "every command is done, and the core is not idle");
  QSIM_CHECK(read_port_.open_bursts() == 0 && write_port_.open_bursts() == 0,
             "every command is done, and bursts are open" + waiting_text());
  check_tokens_drained(program_);
  *ports_.enable_i = 0;
  core_.close_trace();
  return std::move(times_);
}

}  // namespace qsim::rtl
