#include "report/limit_words.h"

#include "report/text_table.h"

namespace qsim {
namespace {

constexpr double kSmallGain = 0.01;

struct BusWord {
  const char* field;
  std::int64_t bytes;
};

// The word at the other end of the bus that limits; of no bytes where no bus does.
BusWord word_of(const LayerTiming& timing, const ArchConfig& arch) {
  if (timing.limited_by.name == "read_bus") return {"array_rows", arch.array_rows};
  if (timing.limited_by.name == "weights" || timing.limited_by.limiter == Limiter::kWriteBus) {
    return {"array_cols", arch.array_cols};
  }
  return {"", 0};
}

// After "is limited by ".
std::string reason(const LayerTiming& timing) {
  const std::string busy = percent(timing.limiter_busy) + " of these cycles";
  const std::string& name = std::string(timing.limited_by.name);
  if (name == "array") return "the array: EXECUTEs occupy it in " + busy;
  if (name == "bubbles") {
    return "fold bubbles: EXECUTEs occupy the array in " + busy +
           ", but mostly no pixel streams, because a fold has fewer pixels than the array has rows";
  }
  if (name == "weights") {
    return "the read bus, which mostly loads weights: LOADs occupy it in " + busy;
  }
  if (name == "read_bus") return "the read bus: LOADs occupy it in " + busy;
  if (name == "write_bus") return "the write bus: STOREs occupy it in " + busy;
  if (name == "post") return "POST, which requantizes the psums: it is busy in " + busy;
  return "no unit: in " + busy +
         " its commands wait for the latency of DRAM or of a pipeline, one after the other";
}

}  // namespace

std::string limit_words(const std::string& subject, const LayerTiming& timing,
                        const ArchConfig& arch) {
  std::string words = subject + " takes " + with_thousands(timing.cycles) +
                      " cycles and is limited by " + reason(timing) + ".";
  const BusWord word = word_of(timing, arch);
  if (word.bytes > 0 && arch.bus_bytes >= word.bytes) {
    words += " Each beat moves one word of " + std::to_string(word.bytes) + " bytes (" +
             word.field + "), so a wider bus alone moves no more.";
  }
  return words;
}

std::int64_t saved_cycles(std::uint64_t before, std::uint64_t after) {
  return static_cast<std::int64_t>(before) - static_cast<std::int64_t>(after);
}

std::string gain_words(const ResourceChange& best, std::int64_t saved, std::uint64_t before) {
  const double share = before == 0 ? 0 : static_cast<double>(saved) / static_cast<double>(before);
  if (saved <= 0) return "None of the changes below saves a cycle.";
  const std::string change =
      best.field + " " + with_thousands(best.from) + " -> " + with_thousands(best.to);
  const std::string gain = with_thousands(saved) + " cycles (" + percent(share) + ")";
  if (share < kSmallGain) {
    return "None of the changes below helps much by itself: the best, " + change + ", saves " +
           gain + ".";
  }
  return "Of the changes below " + change + " saves most: " + gain + ".";
}

}  // namespace qsim
