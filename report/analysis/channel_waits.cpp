#include "report/analysis/channel_waits.h"

#include <algorithm>

#include "core/machine/dram_channel.h"

namespace qsim::report {

namespace {

DramTransfer transfer_of(const Program& program, Unit unit, std::size_t command) {
  const CommandStream stream = program.stream(unit);
  return unit == Unit::kLoad ? dram_transfer(stream.fields<Load>(command), program.arch)
                             : dram_transfer(stream.fields<Store>(command), program.arch);
}

}  // namespace

ChannelWaits::ChannelWaits(const Program& program, Unit unit,
                           const std::vector<CommandTime>& times) {
  const auto burst_beats = static_cast<std::uint64_t>(program.arch.burst_beats);
  DramChannel channel(program.arch);
  for (std::size_t i = 0; i < times.size(); ++i) {
    first_.push_back(waits_.size());
    const DramTransfer transfer = transfer_of(program, unit, i);
    std::uint64_t streamed_until = times[i].start;
    for (std::uint64_t run = 0; run < transfer.runs; ++run) {
      for (std::uint64_t beat = 0; beat < transfer.run_beats; beat += burst_beats) {
        const std::uint64_t beats = std::min(burst_beats, transfer.run_beats - beat);
        const std::uint64_t issue = std::max(channel.earliest_issue(), streamed_until);
        channel.issue(issue, beats);
        if (issue > streamed_until) waits_.push_back({streamed_until, issue});
        streamed_until = issue + beats;
      }
    }
    QSIM_CHECK(streamed_until == times[i].free,
               "the bursts of " + std::string(kUnitNames[static_cast<std::size_t>(unit)]) +
                   " command " + std::to_string(i) + " are issued by cycle " +
                   std::to_string(streamed_until) + ", but its unit is free at " +
                   std::to_string(times[i].free));
  }
  first_.push_back(waits_.size());
}

std::span<const CycleInterval> ChannelWaits::of(std::size_t command) const {
  return {waits_.data() + first_[command], first_[command + 1] - first_[command]};
}

}  // namespace qsim::report
