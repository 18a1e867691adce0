#include "report/analysis/critical_path.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>

#include "core/machine/dram_channel.h"
#include "core/machine/timing_model.h"
#include "report/analysis/channel_waits.h"

namespace qsim::report {
namespace {

// How many cycles up to some cycle an EXECUTE occupies the array; asked for descending cycles.
class ArrayUse {
 public:
  explicit ArrayUse(const std::vector<CommandTime>& executes)
      : executes_(executes), begun_(executes.size()) {
    for (const CommandTime& time : executes) used_ += time.free - time.start;
  }

  std::uint64_t before(std::uint64_t cycle) {
    while (begun_ > 0 && executes_[begun_ - 1].start >= cycle) {
      const CommandTime& time = executes_[--begun_];
      used_ -= time.free - time.start;
    }
    if (begun_ == 0) return 0;
    const std::uint64_t free = executes_[begun_ - 1].free;
    return used_ - (free > cycle ? free - cycle : 0);
  }

 private:
  const std::vector<CommandTime>& executes_;
  std::size_t begun_;       // executes that start before the last cycle asked for
  std::uint64_t used_ = 0;  // by these
};

PathPart part_of(LoadMemory memory) {
  switch (memory) {
    case LoadMemory::kActivation:
      return PathPart::kActivations;
    case LoadMemory::kWeight:
      return PathPart::kWeights;
    case LoadMemory::kParameter:
    case LoadMemory::kTable:
      return PathPart::kParameters;
  }
  return PathPart::kActivations;
}

PathPart latency_of(std::size_t unit) {
  switch (static_cast<Unit>(unit)) {
    case Unit::kExecute:
      return PathPart::kArrayLatency;
    case Unit::kPost:
      return PathPart::kPostLatency;
    case Unit::kLoad:
    case Unit::kStore:
      return PathPart::kDramLatency;
  }
  return PathPart::kDramLatency;
}

// Walks the layers from the last to the first, so that cycles descend.
class PathWalk {
 public:
  PathWalk(const Program& program, const CommandTimes& times, const StartCauses& causes)
      : program_(program), times_(times), causes_(causes), array_use_(times[kExecuteUnit]) {
    for (const std::vector<CommandTime>& unit : times) commands_ += unit.size();
  }

  // The path through the window [begin, end), which ends with this STORE's done.
  LayerPath walk(std::size_t store, std::uint64_t begin, std::uint64_t end);

 private:
  struct Place {
    std::size_t unit;
    std::size_t command;
    bool from_done;  // else from the cycle in which its unit is free
  };

  Place before(const Place& place) const;
  void add_command(const Place& place);
  void add_occupancy(const Place& place);
  void add_transfer(const Place& place, PathPart part, const DramTransfer& transfer);
  void add(PathPart part, std::uint64_t begin, std::uint64_t end);
  const ChannelWaits& waits_of(std::size_t unit);

  const Program& program_;
  const CommandTimes& times_;
  const StartCauses& causes_;
  std::size_t commands_ = 0;
  ArrayUse array_use_;
  std::array<std::optional<ChannelWaits>, kUnits> waits_;  // made when a command needs them
  LayerPath path_;
  std::uint64_t window_begin_ = 0;
};

LayerPath PathWalk::walk(std::size_t store, std::uint64_t begin, std::uint64_t end) {
  path_ = {};
  window_begin_ = begin;
  std::size_t left = commands_;
  Place place{kStoreUnit, store, true};
  std::uint64_t cycle = end;
  while (true) {
    const CommandTime& time = times_[place.unit][place.command];
    QSIM_CHECK((place.from_done ? time.done : time.free) == cycle && left-- > 0,
               "the critical path breaks at " + command_name(program_, place.unit, place.command));
    add_command(place);
    cycle = time.start;
    if (cycle <= begin) break;
    place = before(place);
  }
  return path_;
}

PathWalk::Place PathWalk::before(const Place& place) const {
  const StartCause& cause = causes_[place.unit][place.command];
  if (cause.stall_cycles > 0) return {cause.producer_unit, cause.producer, true};
  QSIM_CHECK(place.command > 0,
             "nothing explains the start of " + command_name(program_, place.unit, place.command));
  return {place.unit, place.command - 1, false};
}

// What a command does from its start to its free, and to its done where the path comes from there;
// the latest cycles first.
void PathWalk::add_command(const Place& place) {
  const CommandTime& time = times_[place.unit][place.command];
  if (place.from_done) add(latency_of(place.unit), time.free, time.done);
  add_occupancy(place);
}

void PathWalk::add_occupancy(const Place& place) {
  const CommandTime& time = times_[place.unit][place.command];
  const CommandStream stream = program_.streams[place.unit];
  switch (static_cast<Unit>(place.unit)) {
    case Unit::kPost:
      return add(PathPart::kPost, time.start, time.free);
    case Unit::kExecute: {
      const std::uint64_t begin = std::max(time.start, window_begin_);
      if (begin >= time.free) return;
      const ExecuteTerms terms =
          execute_terms(stream.fields<Execute>(place.command), program_.arch);
      const std::uint64_t bubbles =
          terms.bubble_before(time.free - time.start) - terms.bubble_before(begin - time.start);
      path_.cycles[static_cast<std::size_t>(PathPart::kFoldBubbles)] += bubbles;
      path_.cycles[static_cast<std::size_t>(PathPart::kArray)] += time.free - begin - bubbles;
      return;
    }
    case Unit::kLoad: {
      const auto load = stream.fields<Load>(place.command);
      return add_transfer(place, part_of(static_cast<LoadMemory>(load.memory)),
                          dram_transfer(load, program_.arch));
    }
    case Unit::kStore:
      return add_transfer(place, PathPart::kWriteBus,
                          dram_transfer(stream.fields<Store>(place.command), program_.arch));
  }
}

void PathWalk::add_transfer(const Place& place, PathPart part, const DramTransfer& transfer) {
  const CommandTime& time = times_[place.unit][place.command];
  std::uint64_t end = time.free;
  if (time.free - time.start > transfer.runs * transfer.run_beats) {
    const std::span<const CycleInterval> waits = waits_of(place.unit).of(place.command);
    for (auto wait = waits.rbegin(); wait != waits.rend(); ++wait) {
      add(part, wait->end, end);
      add(PathPart::kDramLatency, wait->begin, wait->end);
      end = wait->begin;
    }
  }
  add(part, time.start, end);
}

void PathWalk::add(PathPart part, std::uint64_t begin, std::uint64_t end) {
  begin = std::max(begin, window_begin_);
  if (begin >= end) return;
  const std::uint64_t used = array_use_.before(end);
  path_.cycles[static_cast<std::size_t>(part)] += end - begin;
  path_.waits[static_cast<std::size_t>(part)] += end - begin - (used - array_use_.before(begin));
}

const ChannelWaits& PathWalk::waits_of(std::size_t unit) {
  if (!waits_[unit]) waits_[unit].emplace(program_, static_cast<Unit>(unit), times_[unit]);
  return *waits_[unit];
}

// The last STORE of each layer.
std::vector<std::size_t> last_stores(const Program& program) {
  std::vector<std::size_t> last(program.layers.size(), 0);
  const CommandStream stores = program.streams[kStoreUnit];
  for (std::size_t i = 0; i < stores.size(); ++i) {
    last[static_cast<std::size_t>(stores.origin(i).layer)] = i;
  }
  return last;
}

std::uint64_t sum(const PathCycles& cycles, std::initializer_list<PathPart> parts) {
  std::uint64_t sum = 0;
  for (const PathPart part : parts) sum += cycles[static_cast<std::size_t>(part)];
  return sum;
}

}  // namespace

std::vector<LayerPath> critical_paths(const Program& program, const CommandTimes& times,
                                      const StartCauses& causes,
                                      const std::vector<std::uint64_t>& windows) {
  PathWalk walk(program, times, causes);
  const std::vector<std::size_t> stores = last_stores(program);
  std::vector<LayerPath> paths(windows.size());
  for (std::size_t l = windows.size(); l-- > 0;) {
    const std::uint64_t begin = l == 0 ? 0 : windows[l - 1];
    paths[l] = walk.walk(stores[l], begin, windows[l]);
    const PathCycles& cycles = paths[l].cycles;
    const auto whole = std::accumulate(cycles.begin(), cycles.end(), std::uint64_t{0});
    QSIM_CHECK(whole == windows[l] - begin, "the critical path of layer " + program.layers[l].name +
                                                " has " + std::to_string(whole) + " cycles of " +
                                                std::to_string(windows[l] - begin));
  }
  return paths;
}

LimitedBy limited_by(const PathCycles& path) {
  using enum PathPart;
  const std::array<std::uint64_t, kLimiters> shares = {
      sum(path, {kArray, kFoldBubbles}), sum(path, {kWeights, kActivations, kParameters}),
      sum(path, {kWriteBus}), sum(path, {kPost}),
      sum(path, {kDramLatency, kArrayLatency, kPostLatency})};
  const auto most =
      static_cast<std::size_t>(std::max_element(shares.begin(), shares.end()) - shares.begin());
  constexpr std::array<std::string_view, kLimiters> kNames = {"array", "read_bus", "write_bus",
                                                              "post", "dependence"};
  LimitedBy result{static_cast<Limiter>(most), kNames[most], shares[most]};
  if (result.limiter == Limiter::kArray && 2 * sum(path, {kFoldBubbles}) > shares[most]) {
    result.name = "bubbles";
  }
  if (result.limiter == Limiter::kReadBus && 2 * sum(path, {kWeights}) > shares[most]) {
    result.name = "weights";
  }
  return result;
}

}  // namespace qsim::report
