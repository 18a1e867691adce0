// What limits a layer, as a sentence for people; what changing a resource would gain, as another.
#pragma once

#include <string>
#include <vector>

#include "report/run_report.h"

namespace qsim::report {

// "conv1 takes 403,188 cycles and is limited by the write bus: STOREs occupy it in 99.6% of these
// cycles." `subject` begins the sentence. On a bus that no beat fills, because the words of the
// memory at the other end are no wider, another sentence says so; and another names the busiest of
// the other units that are occupied in more than two thirds of the cycles.
std::string limiter_words(const std::string& subject, const LayerTiming& timing,
                          const ArchConfig& arch);

// A run with one resource changed.
struct ResourceChange {
  std::string field;  // of ArchConfig
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::string refusal;  // why it cannot run; the cycles are 0 then
  std::vector<std::uint64_t> layer_cycles;
  std::uint64_t total_cycles = 0;
};

// Cycles that a change saves of `before`; negative where it costs some.
std::int64_t saved_cycles(std::uint64_t before, std::uint64_t after);

// "Of the changes below bus_bytes 8 -> 16 saves most: 201,594 cycles (50.0%)." `best` saves `saved`
// of `before` cycles, no other change more. Says so where the best saves less than 1%.
std::string gain_words(const ResourceChange& best, std::int64_t saved, std::uint64_t before);
// "outstanding_bursts 16 -> 32 saves nearly as much: 1,266,000 cycles (49.9%)." Of a change that
// saves at least nine tenths of what the best one does, where that is worth a sentence; else "".
std::string near_gain_words(const ResourceChange& change, std::int64_t saved,
                            std::int64_t saved_by_best, std::uint64_t before);

}  // namespace qsim::report
