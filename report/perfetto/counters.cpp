#include "report/perfetto/counters.h"

#include <algorithm>
#include <bit>

#include "analysis/resident_bytes.h"
#include "core/dram_channel.h"
#include "report/perfetto/command_tracks.h"

namespace qsim {
namespace {

constexpr std::uint64_t kLeastInterval = 64;
constexpr std::uint64_t kMostIntervals = 2000;

std::uint64_t bytes_of(const Program& program, Unit unit, std::size_t index) {
  const CommandStream stream = program.stream(unit);
  return unit == Unit::kLoad ? dram_transfer(stream.fields<Load>(index), program.arch).bytes
                             : dram_transfer(stream.fields<Store>(index), program.arch).bytes;
}

// Bytes of a command that have moved after `part` of its `whole` cycles. No more bytes than a
// scratchpad has move in one command, so that the product fits.
std::uint64_t share(std::uint64_t bytes, std::uint64_t part, std::uint64_t whole) {
  return bytes * part / whole;
}

// By interval of the window.
std::vector<std::uint64_t> bytes_by_interval(const TracedRun& run, Unit unit, CycleInterval window,
                                             std::uint64_t interval) {
  std::vector<std::uint64_t> sums((window.end - window.begin + interval - 1) / interval);
  const std::vector<CommandTime>& times = run.times[static_cast<std::size_t>(unit)];
  for (std::size_t i = 0; i < times.size(); ++i) {
    const CommandTime& time = times[i];
    const std::optional<CycleInterval> part =
        part_in({window.begin, window.end}, {time.start, time.free});
    if (!part) continue;
    const std::uint64_t bytes = bytes_of(run.program, unit, i);
    const auto moved_by = [&](std::uint64_t cycle) {
      return share(bytes, cycle - time.start, time.free - time.start);
    };
    for (std::uint64_t at = part->begin; at < part->end;) {
      const std::uint64_t number = (at - window.begin) / interval;
      const std::uint64_t next = std::min(part->end, window.begin + (number + 1) * interval);
      sums[number] += moved_by(next) - moved_by(at);
      at = next;
    }
  }
  return sums;
}

}  // namespace

void trace_dram_bytes(const TracedRun& run, const CycleWindow& window, TraceTrack group,
                      TraceWriter& writer) {
  const std::optional<CycleInterval> cycles = part_in(window, {0, run.account.total_cycles});
  if (!cycles) return;
  const std::uint64_t interval =
      std::max(kLeastInterval,
               std::bit_ceil((cycles->end - cycles->begin + kMostIntervals - 1) / kMostIntervals));
  for (const Unit unit : {Unit::kLoad, Unit::kStore}) {
    const std::string name = unit == Unit::kLoad ? "DRAM read" : "DRAM written";
    const std::string unit_name = "bytes in " + std::to_string(interval) + " cycles";
    const TraceTrack track = writer.counter_track(
        group, name, "the bytes of a command, spread evenly from its start to its free", unit_name);
    const std::vector<std::uint64_t> sums = bytes_by_interval(run, unit, *cycles, interval);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      writer.count(track, cycles->begin + i * interval, static_cast<std::int64_t>(sums[i]));
    }
    writer.count(track, cycles->end, 0);
  }
}

void trace_resident_bytes(const TracedRun& run, const CycleWindow& window, TraceTrack group,
                          TraceWriter& writer) {
  const std::optional<CycleInterval> cycles = part_in(window, {0, run.account.total_cycles});
  if (!cycles) return;
  for (std::size_t m = 0; m < kOnChipMemories; ++m) {
    const TraceTrack track = writer.counter_track(
        group, kOnChipMemoryNames[m],
        "bytes that are being written or are still to be read by a command", "bytes");
    std::uint64_t level = 0;  // before the next change
    bool is_open = false;
    for (const ResidentLevel& change :
         resident_bytes(run.program, run.times, static_cast<OnChipMemory>(m))) {
      if (change.cycle >= cycles->end) break;
      if (change.cycle > cycles->begin && !is_open) {
        writer.count(track, cycles->begin, static_cast<std::int64_t>(level));
      }
      level = change.bytes;
      if (change.cycle < cycles->begin) continue;
      writer.count(track, change.cycle, static_cast<std::int64_t>(level));
      is_open = true;
    }
    if (!is_open) writer.count(track, cycles->begin, static_cast<std::int64_t>(level));
    writer.count(track, cycles->end, 0);
  }
}

}  // namespace qsim
