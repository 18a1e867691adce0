#include "report/limiter_words.h"

#include <algorithm>
#include <array>

#include "report/text_table.h"

namespace qsim::report {
namespace {

constexpr double kSmallGain = 0.01;

struct BusWord {
  const char* field;
  std::int64_t bytes;
};

// The word at the other end of the bus that limits; of no bytes where no bus does.
BusWord word_of(const LayerTiming& timing, const ArchConfig& arch) {
  if (timing.limited_by.name == "read_bus") return {"array_rows", arch.array_rows};
  if (timing.limited_by.name == "weights") {
    return {"the larger of array_rows and array_cols", arch.weight_word_bytes()};
  }
  if (timing.limited_by.limiter == Limiter::kWriteBus) return {"array_cols", arch.array_cols};
  return {"", 0};
}

std::string share_text_of(std::uint64_t cycles, const LayerTiming& timing) {
  return percent(static_cast<double>(cycles) / static_cast<double>(timing.cycles)) +
         " of these cycles";
}

// Why a unit that is occupied moves nothing.
std::string full_words(const ArchConfig& arch) {
  return "because as many bursts are in flight as may be (outstanding_bursts " +
         std::to_string(arch.outstanding_bursts) + ")";
}

// Says how much the commands of the bus wait, where they often do. It comes after the share of the
// cycles in which they occupy the bus.
std::string waits_words(Unit bus, const LayerTiming& timing, const ArchConfig& arch) {
  const std::uint64_t waits = timing.busy.waits[static_cast<std::size_t>(bus)];
  if (10 * waits <= timing.cycles) return "";
  return ", but move nothing in " + share_text_of(waits, timing) + ", " + full_words(arch);
}

// What the commands of a dependence wait for.
std::string latency_words(const LayerTiming& timing, const ArchConfig& arch) {
  const auto part = [&](PathPart which) {
    return timing.critical_path[static_cast<std::size_t>(which)];
  };
  const std::uint64_t dram = part(PathPart::kDramLatency);
  const auto& waits = timing.busy.waits;
  const std::uint64_t loads = waits[static_cast<std::size_t>(Unit::kLoad)];
  const std::uint64_t stores = waits[static_cast<std::size_t>(Unit::kStore)];
  const bool is_of_bursts = 2 * dram > timing.limited_by.path_cycles &&
                            2 * std::max(loads, stores) > timing.limited_by.path_cycles;
  if (!is_of_bursts) {
    return " its commands wait for the latency of DRAM or of a pipeline, one after the other";
  }
  return std::string(" it waits for the latency of DRAM, ") +
         (loads > stores ? "mostly in LOADs" : "mostly in STOREs") + " that move nothing, " +
         full_words(arch);
}

// The words that come after "is limited by ".
std::string reason(const LayerTiming& timing, const ArchConfig& arch) {
  const std::string busy = percent(timing.limiter_busy) + " of these cycles";
  const std::string& name = std::string(timing.limited_by.name);
  if (name == "array") return "the array: EXECUTEs occupy it in " + busy;
  if (name == "bubbles") {
    return "fold bubbles: EXECUTEs occupy the array in " + busy +
           ", but mostly no pixel streams, because a fold has fewer pixels than the array has rows";
  }
  if (name == "weights") {
    return "the read bus, which mostly loads weights: LOADs occupy it in " + busy +
           waits_words(Unit::kLoad, timing, arch);
  }
  if (name == "read_bus") {
    return "the read bus: LOADs occupy it in " + busy + waits_words(Unit::kLoad, timing, arch);
  }
  if (name == "write_bus") {
    return "the write bus: STOREs occupy it in " + busy + waits_words(Unit::kStore, timing, arch);
  }
  if (name == "post") return "POST, which requantizes the psums: it is busy in " + busy;
  return "no unit: in " + busy + latency_words(timing, arch);
}

// Where another unit is at work in two thirds of the cycles, nothing that helps the limiter alone
// can take a third off. A bus is not at work where its commands wait.
std::string next_limit(const LayerTiming& timing) {
  constexpr std::array<const char*, kUnits> kNames = {"the read bus", "the array", "POST",
                                                      "the write bus"};
  constexpr std::array<Unit, kLimiters> kUnitOf = {Unit::kExecute, Unit::kLoad, Unit::kStore,
                                                   Unit::kPost, Unit::kPost};
  const Limiter limiter = timing.limited_by.limiter;
  const auto work = [&](std::size_t u) { return timing.busy.units[u] - timing.busy.waits[u]; };
  std::size_t next = kUnits;
  for (std::size_t u = 0; u < kUnits; ++u) {
    const bool limits = limiter != Limiter::kDependence &&
                        static_cast<Unit>(u) == kUnitOf[static_cast<std::size_t>(limiter)];
    if (limits || 3 * work(u) <= 2 * timing.cycles) continue;
    if (next == kUnits || work(u) > work(next)) next = u;
  }
  if (next == kUnits) return "";
  // What limits is on the longest chain of commands; another unit may be at work longer beside it.
  const bool is_busier =
      limiter != Limiter::kDependence &&
      static_cast<double>(work(next)) > timing.limiter_busy * static_cast<double>(timing.cycles);
  if (is_busier) {
    return std::string(" At work in ") + share_text_of(work(next), timing) + ": " + kNames[next] +
           ", which is less of the longest chain of commands.";
  }
  return std::string(" Next comes ") + kNames[next] + ", occupied in " +
         share_text_of(work(next), timing) + ".";
}

double share_of(std::int64_t saved, std::uint64_t before) {
  return before == 0 ? 0 : static_cast<double>(saved) / static_cast<double>(before);
}

std::string change_words(const ResourceChange& change) {
  return change.field + " " + with_thousands(change.from) + " -> " + with_thousands(change.to);
}

std::string saving_words(std::int64_t saved, std::uint64_t before) {
  return with_thousands(saved) + " cycles (" + percent(share_of(saved, before)) + ")";
}

}  // namespace

std::string limiter_words(const std::string& subject, const LayerTiming& timing,
                          const ArchConfig& arch) {
  std::string words = subject + " takes " + with_thousands(timing.cycles) +
                      " cycles and is limited by " + reason(timing, arch) + ".";
  const BusWord word = word_of(timing, arch);
  if (word.bytes > 0 && arch.bus_bytes >= word.bytes) {
    words += " Each beat moves one word of " + std::to_string(word.bytes) + " bytes (" +
             word.field + "), so a wider bus alone moves no more.";
  }
  return words + next_limit(timing);
}

std::int64_t saved_cycles(std::uint64_t before, std::uint64_t after) {
  return static_cast<std::int64_t>(before) - static_cast<std::int64_t>(after);
}

std::string gain_words(const ResourceChange& best, std::int64_t saved, std::uint64_t before) {
  if (saved <= 0) return "None of the changes below saves a cycle.";
  const std::string change = change_words(best);
  const std::string gain = saving_words(saved, before);
  if (share_of(saved, before) < kSmallGain) {
    return "None of the changes below helps much by itself: the best, " + change + ", saves " +
           gain + ".";
  }
  return "Of the changes below " + change + " saves most: " + gain + ".";
}

std::string near_gain_words(const ResourceChange& change, std::int64_t saved,
                            std::int64_t saved_by_best, std::uint64_t before) {
  const bool is_near = change.refusal.empty() && saved > 0 && 10 * saved >= 9 * saved_by_best;
  if (!is_near || share_of(saved_by_best, before) < kSmallGain) return "";
  return change_words(change) + " saves nearly as much: " + saving_words(saved, before) + ".";
}

}  // namespace qsim::report
