#include "report/perfetto/command_tracks.h"

#include <algorithm>
#include <array>

#include "core/base/printable.h"
#include "core/machine/dram_channel.h"

namespace qsim::report {
namespace {

constexpr auto kLoad = static_cast<std::size_t>(Unit::kLoad);

// A command of a run: its number within the unit, and the unit in the low bits.
using CommandNumber = std::uint64_t;
CommandNumber number_of(std::size_t unit, std::size_t index) { return index << 2 | unit; }

// An arrow, ordered by where it leaves. Its number in the file is that of the command it reaches:
// a wait has one cause.
struct Arrow {
  CommandNumber from = 0;
  CommandNumber to = 0;
  // clang-tidy 14 takes the 0 that a defaulted <=> is compared with for a pointer.
  auto operator<=>(const Arrow&) const = default;  // NOLINT(modernize-use-nullptr)
};

class CommandTracer {
 public:
  CommandTracer(const TracedRun& run, const CycleWindow& window, TraceTrack group,
                TraceWriter& writer)
      : run_(run), window_(window), group_(group), writer_(writer) {
    for (const ProgramLayer& layer : run.program.layers) layers_.push_back(printable(layer.name));
    find_arrows();
  }

  void trace_unit(std::size_t unit) {
    make_tracks(unit);
    for (std::size_t i = 0; i < run_.times[unit].size(); ++i) {
      trace_wait(unit, i);
      trace_command(unit, i);
    }
  }

 private:
  std::optional<CycleInterval> command_part(std::size_t unit, std::size_t index) const {
    const CommandTime& time = run_.times[unit][index];
    return part_in(window_, {time.start, time.free});
  }

  void find_arrows() {
    for (std::size_t unit = 0; unit < kUnits; ++unit) {
      for (std::size_t i = 0; i < run_.times[unit].size(); ++i) {
        const StartCause& cause = run_.account.causes[unit][i];
        if (cause.stall_cycles == 0 || !command_part(unit, i) ||
            !command_part(cause.producer_unit, cause.producer)) {
          continue;
        }
        arrows_.push_back({number_of(cause.producer_unit, cause.producer), number_of(unit, i)});
      }
    }
    std::sort(arrows_.begin(), arrows_.end());
  }

  // Unlike within the run, an arrow's number is used once in the whole file.
  std::uint64_t arrow_id(const Arrow& arrow) const {
    return static_cast<std::uint64_t>(group_) << 32 | arrow.to;
  }

  TraceFlows flows_of(std::size_t unit, std::size_t index) const {
    TraceFlows flows;
    const CommandNumber from = number_of(unit, index);
    auto arrow = std::lower_bound(arrows_.begin(), arrows_.end(), Arrow{from, 0});
    for (; arrow != arrows_.end() && arrow->from == from; ++arrow) {
      flows.leave.push_back(arrow_id(*arrow));
    }
    const StartCause& cause = run_.account.causes[unit][index];
    const Arrow reaching{number_of(cause.producer_unit, cause.producer), from};
    if (cause.stall_cycles > 0 && std::binary_search(arrows_.begin(), arrows_.end(), reaching)) {
      flows.reach.push_back(arrow_id(reaching));
    }
    return flows;
  }

  void make_tracks(std::size_t unit) {
    const std::string name(kUnitNames[unit]);
    if (unit == kLoad) {
      for (std::size_t m = 0; m < kLoadMemories; ++m) {
        static constexpr std::array<std::string_view, kLoadMemories> kContents = {
            "activations", "weights", "parameters"};
        command_tracks_[m] = writer_.track(group_, name + " " + std::string(kContents[m]),
                                           "LOADs of this kind, from start to free; the unit "
                                           "executes one LOAD at a time");
      }
    } else {
      command_tracks_[0] = writer_.track(group_, name, "commands, from start to free");
    }
    wait_track_ = writer_.track(group_, name + " waits",
                                "the unit is free, and its next command waits for this");
  }

  // The command that ended the wait.
  std::string cause_name(const StartCause& cause) const {
    return std::string(kUnitNames[cause.producer_unit]) + " command " +
           std::to_string(cause.producer);
  }

  void trace_wait(std::size_t unit, std::size_t index) {
    const StartCause& cause = run_.account.causes[unit][index];
    const std::uint64_t start = run_.times[unit][index].start;
    const std::optional<CycleInterval> part = part_in(window_, {start - cause.stall_cycles, start});
    if (!part) return;
    TraceArgs args(writer_);
    args.number("command", index).text("ended_by", cause_name(cause));
    writer_.slice(wait_track_, part->begin, part->end, "wait",
                  printable(stall_name(run_.program, cause.semaphore)), args);
  }

  void trace_command(std::size_t unit, std::size_t index) {
    const std::optional<CycleInterval> part = command_part(unit, index);
    if (!part) return;
    const CommandStream stream = run_.program.streams[unit];
    const Command command = stream.command(index);
    const Origin& origin = stream.origin(index);
    const CommandTime& time = run_.times[unit][index];
    TraceArgs args(writer_);
    args.number("command", index)
        .text("origin", printable(origin_text(run_.program, origin)))
        .number("start", time.start)
        .number("free", time.free)
        .number("done", time.done);
    add_cause(unit, index, args);
    add_bytes(command, args);
    add_fields(command, args);
    const std::size_t track =
        unit == kLoad ? reported_memory(std::get<Load>(command.fields).memory) : 0;
    writer_.slice(command_tracks_[track], part->begin, part->end, kUnitNames[unit],
                  layers_[static_cast<std::size_t>(origin.layer)], args, flows_of(unit, index));
  }

  void add_cause(std::size_t unit, std::size_t index, TraceArgs& args) const {
    const StartCause& cause = run_.account.causes[unit][index];
    if (cause.stall_cycles == 0) return;
    args.word("waited_for", printable(stall_name(run_.program, cause.semaphore)))
        .number("waited_cycles", cause.stall_cycles);
  }

  void add_bytes(const Command& command, TraceArgs& args) const {
    const ArchConfig& arch = run_.program.arch;
    if (const auto* load = std::get_if<Load>(&command.fields)) {
      args.number("bytes", dram_transfer(*load, arch).bytes);
    } else if (const auto* store = std::get_if<Store>(&command.fields)) {
      args.number("bytes", dram_transfer(*store, arch).bytes);
    }
  }

  static void add_fields(const Command& command, TraceArgs& args) {
    const std::span<const CommandField> fields = command_fields(command.unit());
    for (std::size_t f = 0; f < fields.size(); ++f) {
      const std::int64_t value = field_value(command, f);
      if (!fields[f].is_optional || value != 0) args.signed_number(fields[f].name, value);
    }
  }

  const TracedRun& run_;
  const CycleWindow& window_;
  TraceTrack group_;
  TraceWriter& writer_;
  std::vector<std::string> layers_;  // printable names
  std::vector<Arrow> arrows_;        // ascending
  std::array<TraceTrack, kLoadMemories> command_tracks_{};
  TraceTrack wait_track_{};
};

}  // namespace

std::optional<CycleInterval> part_in(const CycleWindow& window, CycleInterval cycles) {
  const CycleInterval part{std::max(window.first, cycles.begin), std::min(window.last, cycles.end)};
  return part.begin < part.end ? std::optional(part) : std::nullopt;
}

void trace_commands(const TracedRun& run, const CycleWindow& window, TraceTrack group,
                    TraceWriter& writer) {
  CommandTracer tracer(run, window, group, writer);
  for (std::size_t unit = 0; unit < kUnits; ++unit) tracer.trace_unit(unit);
}

}  // namespace qsim::report
