#include "sim/recurrence/dram_recurrence.h"

#include <algorithm>
#include <bit>

#include "core/base/error.h"

namespace qsim::sim {
namespace {

std::uint64_t positive(std::int64_t value) { return static_cast<std::uint64_t>(value); }

std::uint64_t ceil_quotient(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

}  // namespace

DramRecurrence::DramRecurrence(const ArchConfig& arch)
    : latency_(positive(arch.dram_latency_cycles)),
      burst_beats_(positive(arch.burst_beats)),
      outstanding_(positive(arch.outstanding_bursts)),
      full_in_flight_(ceil_quotient(latency_, burst_beats_)),
      in_flight_(std::bit_ceil(outstanding_)),
      mask_(in_flight_.size() - 1),
      saved_(outstanding_) {}

void DramRecurrence::reset() {
  port_free_ = 0;
  oldest_ = 0;
  count_ = 0;
}

DramRecurrence::Times DramRecurrence::transfer(std::uint64_t start, std::uint64_t runs,
                                               std::uint64_t run_beats) {
  port_free_ = std::max(port_free_, start);
  if (runs == 0 || run_beats == 0) return {port_free_, port_free_};
  const Run run{run_beats / burst_beats_, run_beats % burst_beats_};
  if (run.rest == 0) {
    issue_equal(runs * run.full, burst_beats_);
  } else if (run.full == 0) {
    issue_equal(runs, run.rest);
  } else {
    issue_runs(runs, run);
  }
  return {port_free_, port_free_ + latency_};
}

// Burst i of this block waits for burst i - N. Two cases have a closed form:
// - The port streams when (N - 1) beats >= L, since burst i - N is done by the time that burst i -
// 1
//   has streamed. The bursts in flight at the block's begin may delay its first N (delay_none).
// - Every burst waits for the one N before it when the last N are of this block, so that they are
//   at least `beats` apart, and the newest of them is done at most L after the oldest. Then
//   done_i = done_{i-N} + L + beats, and both hold again N bursts later.
void DramRecurrence::issue_equal(std::uint64_t bursts, std::uint64_t beats) {
  const bool streams = (outstanding_ - 1) * beats >= latency_;
  for (std::uint64_t issued = 0; issued < bursts; ++issued) {
    if (!streams && issued >= outstanding_ && bursts - issued >= outstanding_ &&
        count_ == outstanding_ && last() - first() <= latency_) {
      const std::uint64_t rounds = (bursts - issued) / outstanding_;
      shift(rounds * (latency_ + beats));
      bursts -= rounds * outstanding_;
      if (issued == bursts) return;
    }
    forget_done();
    if (streams && (issued >= outstanding_ || delay_none((outstanding_ - count_) * beats))) {
      return stream_equal(bursts - issued, beats);
    }
    issue(beats);
  }
}

// As for equal bursts: the port streams when any N - 1 bursts in a row take at least L beats. Where
// it does not, the times of a run follow from the state at its begin, relative to port_free_. So
// they repeat from the first state that comes again, which Brent's method finds without keeping all
// states (BIT 20, 1980).
void DramRecurrence::issue_runs(std::uint64_t runs, const Run& run) {
  const bool streams = streams_when_alone(run);
  std::uint64_t issued = 0;
  std::uint64_t saved_at = 0;  // runs issued when the state was saved
  std::uint64_t save_next_at = 0;
  for (; issued < runs; ++issued) {
    forget_done();
    if (streams) {
      if (issued * (run.full + 1) >= outstanding_ || streams_from_here(run)) {
        return stream_runs(runs - issued, run);
      }
    } else if (issued > saved_at && equals_saved()) {
      const std::uint64_t period = issued - saved_at;
      shift((runs - issued) / period * (port_free_ - saved_port_free_));
      issued = runs - (runs - issued) % period;
      break;
    } else if (issued == save_next_at) {
      save();
      saved_at = issued;
      save_next_at = 2 * issued + 1;
    }
    issue_run(run);
  }
  for (; issued < runs; ++issued) issue_run(run);
}

void DramRecurrence::issue_run(const Run& run) {
  issue_equal(run.full, burst_beats_);
  issue_equal(1, run.rest);
}

// forget_done() came before.
void DramRecurrence::issue(std::uint64_t beats) {
  ++steps_;
  if (count_ == outstanding_) {
    port_free_ = first();
    pop();
  }
  port_free_ += beats;
  push(port_free_ + latency_);
}

void DramRecurrence::stream_equal(std::uint64_t bursts, std::uint64_t beats) {
  ++steps_;
  const std::uint64_t end = port_free_ + bursts * beats;
  port_free_ = end;
  forget_done();
  // In flight at the end are those that have streamed less than L before.
  std::uint64_t newest = 1;
  if (bursts > 1) {
    newest =
        std::min(bursts, beats == burst_beats_ ? full_in_flight_ : ceil_quotient(latency_, beats));
  }
  while (newest-- > 0) push(end - newest * beats + latency_);
}

// Only the runs of the last L beats have bursts in flight at the end, which are no more runs than
// full bursts. The runs before them are left out: their bursts delay none.
void DramRecurrence::stream_runs(std::uint64_t runs, const Run& run) {
  const std::uint64_t run_beats = run.full * burst_beats_ + run.rest;
  const std::uint64_t last_runs = std::min(runs, full_in_flight_);
  port_free_ += (runs - last_runs) * run_beats;
  for (std::uint64_t i = 0; i < last_runs; ++i) {
    forget_done();
    stream_equal(run.full, burst_beats_);
    stream_equal(1, run.rest);
  }
}

// The first test counts every second burst as full, which is often enough and needs no division.
bool DramRecurrence::streams_when_alone(const Run& run) const {
  return (outstanding_ - 1) / 2 * burst_beats_ >= latency_ ||
         least_beats(outstanding_ - 1, run) >= latency_;
}

bool DramRecurrence::streams_from_here(const Run& run) const {
  const std::uint64_t bursts = outstanding_ - count_;
  return delay_none((bursts + 1) / 2 * burst_beats_) || delay_none(first_beats(bursts, run));
}

// Beats of the first `bursts` bursts of runs.
std::uint64_t DramRecurrence::first_beats(std::uint64_t bursts, const Run& run) const {
  const std::uint64_t run_bursts = run.full + 1;
  return bursts / run_bursts * (run.full * burst_beats_ + run.rest) +
         bursts % run_bursts * burst_beats_;
}

// Beats of any `bursts` bursts in a row: those with the most short ones.
std::uint64_t DramRecurrence::least_beats(std::uint64_t bursts, const Run& run) const {
  const std::uint64_t beats = first_beats(bursts, run);
  return bursts % (run.full + 1) == 0 ? beats : beats - burst_beats_ + run.rest;
}

void DramRecurrence::pop() {
  ++oldest_;
  --count_;
}

void DramRecurrence::forget_done() {
  while (count_ > 0 && first() <= port_free_) pop();
}

void DramRecurrence::shift(std::uint64_t cycles) {
  ++steps_;
  port_free_ += cycles;
  for (std::uint64_t i = 0; i < count_; ++i) in_flight_[(oldest_ + i) & mask_] += cycles;
}

void DramRecurrence::save() {
  saved_count_ = count_;
  saved_port_free_ = port_free_;
  for (std::uint64_t i = 0; i < count_; ++i) {
    saved_[i] = in_flight_[(oldest_ + i) & mask_] - port_free_;
  }
}

bool DramRecurrence::equals_saved() const {
  if (count_ != saved_count_) return false;
  for (std::uint64_t i = 0; i < count_; ++i) {
    if (saved_[i] != in_flight_[(oldest_ + i) & mask_] - port_free_) return false;
  }
  return true;
}

}  // namespace qsim::sim
