#include "core/machine/dram_channel.h"

#include <algorithm>

#include "core/base/checked_math.h"

namespace qsim {
namespace {

DramTransfer make_transfer(std::int64_t runs, std::int64_t run_bytes, std::int64_t beat_bytes) {
  return {static_cast<std::uint64_t>(runs),
          static_cast<std::uint64_t>(ceil_div(run_bytes, beat_bytes)),
          static_cast<std::uint64_t>(runs * run_bytes)};
}

}  // namespace

DramTransfer dram_transfer(const Load& load, const ArchConfig& arch) {
  std::int64_t beat_bytes = arch.bus_bytes;
  if (load.memory == static_cast<std::uint32_t>(LoadMemory::kActivation)) {
    beat_bytes = std::min(beat_bytes, arch.array_rows);
  } else if (load.memory == static_cast<std::uint32_t>(LoadMemory::kWeight)) {
    beat_bytes = std::min(beat_bytes, arch.weight_word_bytes());
  }
  return make_transfer(std::int64_t{load.runs} * load.groups, load.run_bytes, beat_bytes);
}

DramTransfer dram_transfer(const Store& store, const ArchConfig& arch) {
  return make_transfer(std::int64_t{store.runs} * store.groups, store.run_bytes,
                       std::min(arch.bus_bytes, arch.array_cols));
}

DramChannel::DramChannel(const ArchConfig& arch)
    : latency_(static_cast<std::uint64_t>(arch.dram_latency_cycles)),
      burst_beats_(static_cast<std::uint64_t>(arch.burst_beats)),
      done_(static_cast<std::size_t>(arch.outstanding_bursts), 0) {}

std::uint64_t DramChannel::issue(std::uint64_t cycle, std::uint64_t beats) {
  port_free_ = cycle + beats;
  const std::uint64_t done = port_free_ + latency_;
  done_[oldest_] = done;
  if (++oldest_ == done_.size()) oldest_ = 0;
  earliest_issue_ = std::max(port_free_, done_[oldest_]);
  return done;
}

DramTimes DramChannel::schedule(std::uint64_t start, const DramTransfer& transfer) {
  std::uint64_t done = std::max(port_free_, start);
  std::uint64_t free = done;
  for (std::uint64_t run = 0; run < transfer.runs; ++run) {
    for (std::uint64_t beat = 0; beat < transfer.run_beats; beat += burst_beats_) {
      const std::uint64_t beats = std::min(burst_beats_, transfer.run_beats - beat);
      done = issue(std::max(earliest_issue_, start), beats);
      free = port_free_;
    }
  }
  return {free, done};
}

}  // namespace qsim
