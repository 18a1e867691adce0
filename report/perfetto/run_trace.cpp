#include "report/perfetto/run_trace.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "core/base/error.h"
#include "core/base/printable.h"
#include "core/machine/dram_channel.h"
#include "report/analysis/resident_bytes.h"
#include "report/perfetto/command_tracks.h"

namespace qsim::report {
namespace {

// Counters of a run: DRAM traffic by intervals of equal length, and how full the on-chip memories
// are.
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

// The bytes that `unit` moves in each interval of the window.
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

// The bytes that LOADs read, and those that STOREs write. The bytes of a command are spread evenly
// over the cycles from its start to its free, in whole bytes. An interval is a power of two of
// cycles, at least 64, and at most 2,000 of them cover the window.
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

// The bytes in use of each on-chip memory (report/analysis/resident_bytes.h).
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

std::string_view dataflow_of(const Program& program, std::size_t execute) {
  const auto fields = program.stream(Unit::kExecute).fields<Execute>(execute);
  return kDataflowNames[fields.dataflow];
}

// The dataflow of each layer's first EXECUTE.
std::vector<std::string_view> layer_dataflows(const Program& program) {
  std::vector<std::string_view> dataflows(program.layers.size(), "none");
  const CommandStream executes = program.stream(Unit::kExecute);
  for (std::size_t i = executes.size(); i-- > 0;) {
    dataflows[static_cast<std::size_t>(executes.origin(i).layer)] = dataflow_of(program, i);
  }
  return dataflows;
}

void trace_layers(const TracedRun& run, const CycleWindow& window, TraceTrack group,
                  TraceWriter& writer) {
  const TraceTrack track = writer.track(
      group, "layers", "from the end of the layer before to the done of the layer's last STORE");
  const std::vector<std::string_view> dataflows = layer_dataflows(run.program);
  for (std::size_t i = 0; i < run.account.layers.size(); ++i) {
    const LayerAccount& layer = run.account.layers[i];
    const std::optional<CycleInterval> part = part_in(window, {layer.begin_cycle, layer.end_cycle});
    if (!part) continue;
    const ProgramLayer& named = run.program.layers[i];
    TraceArgs args(writer);
    args.word("operation", printable(named.operation))
        .word("dataflow", dataflows[i])
        .text("mapping", printable(named.mapping))
        .number("cycles", layer.cycles())
        .number("macs", layer.macs)
        .real("utilization", utilization(layer.macs, layer.cycles(), run.program.arch))
        .word("limited_by", limited_by(layer.path.cycles).name)
        .number("dram_read_bytes", layer.dram_read_bytes)
        .number("dram_write_bytes", layer.dram_write_bytes);
    writer.slice(track, part->begin, part->end, "layer", printable(named.name), args);
  }
}

}  // namespace

CycleWindow window_of_layers(const Program& program, const CommandTimes& times, std::size_t first,
                             std::size_t last) {
  CycleWindow window{std::numeric_limits<std::uint64_t>::max(), 0};
  for (std::size_t u = 0; u < kUnits; ++u) {
    const CommandStream stream = program.streams[u];
    for (std::size_t i = 0; i < stream.size(); ++i) {
      const auto layer = static_cast<std::size_t>(stream.origin(i).layer);
      if (layer < first || layer > last) continue;
      window.first = std::min(window.first, times[u][i].start);
      window.last = std::max(window.last, times[u][i].free);
    }
  }
  return window;
}

void trace_run(const TracedRun& run, const CycleWindow& window, TraceWriter& writer) {
  const TraceTrack group = writer.group(run.name, run.description);
  trace_layers(run, window, group, writer);
  trace_commands(run, window, group, writer);
  trace_dram_bytes(run, window, group, writer);
  trace_resident_bytes(run, window, group, writer);
}

}  // namespace qsim::report
