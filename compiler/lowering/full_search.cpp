#include "compiler/lowering/full_search.h"

#include <limits>

namespace qsim {
namespace {

class FullSearch {
 public:
  FullSearch(const std::vector<TileSize>& tiles, const MapperOptions& options,
             CandidateSource& source, MappingTimings& timings)
      : tiles_(tiles), options_(options), source_(source), timings_(timings) {}

  void run() {
    if (options_.objective == Objective::kCycles) find_fewest_cycles();
    if (!timings_.is_over()) find_least_rank();
  }

 private:
  // A mapping is not timed when its bound is not below the fewest cycles so far, and a tile size is
  // left out likewise.
  void find_fewest_cycles() {
    for (const TileSize& tile : tiles_) {
      if (tile.cycles >= timings_.fewest_cycles() || timings_.is_over()) return;
      Candidates candidates;
      source_.collect(
          tile, [&](const Candidate& c) { return c.cycles < timings_.fewest_cycles(); },
          candidates);
      for (Candidate* c : in_order_of_cycles(candidates)) {
        if (c->cycles >= timings_.fewest_cycles() || timings_.is_over()) break;
        for (const Mapping& mapping : mappings_of(c->chunking, MappingSearch::kFull)) {
          const std::int64_t most = timings_.fewest_cycles() - 1;
          if (c->sums.least_slot_cycles(mapping) <= most) timings_.time(mapping, c->sums, most);
        }
      }
    }
  }

  // Of the mappings whose bounds allow the least rank, the least bound first, until no other one
  // can be better.
  void find_least_rank() {
    best_ = timings_.best_rank();
    most_cycles_ = most_cycles(timings_.fewest_cycles(), options_);
    Candidates candidates;
    for (const TileSize& tile : tiles_) {
      if (tile.cycles > most_cycles_ || Rank{tile.value, tile.cycles, 0} >= best_) continue;
      if (timings_.is_over()) return;
      source_.collect(
          tile, [&](const Candidate& c) { return c.cycles <= most_cycles_ && c.rank() < best_; },
          candidates);
      // One that is timed early bounds what has to be kept.
      if (candidates.size() > kKept) {
        time_in_order(candidates);
        candidates.clear();
      }
    }
    time_in_order(candidates);
  }

  void time_in_order(Candidates& candidates) {
    for (Candidate* c : in_order_of_rank(candidates)) {
      if (c->rank() >= best_ || timings_.is_over()) return;
      time_all(*c);
    }
  }

  // All mappings of a chunking have about the same value but for Objective::kEdp, which needs few
  // cycles; of equal ones the fewest cycles count.
  void time_all(const Candidate& c) {
    std::int64_t most = most_cycles_;
    for (const Mapping& mapping : mappings_of(c.chunking, MappingSearch::kFull)) {
      // Of one with at least the best value, no more cycles than the best's are of use.
      if (c.value >= best_.value) most = std::min(most, best_.cycles);
      if (c.sums.least_slot_cycles(mapping) > most) continue;
      const std::optional<Score> score = timings_.time(mapping, c.sums, most);
      if (!score) continue;
      best_ = std::min(best_, rank_of(*score, options_.objective));
      most = score->cycles - 1;
    }
  }

  static constexpr std::size_t kKept = 200'000;

  const std::vector<TileSize>& tiles_;
  const MapperOptions& options_;
  CandidateSource& source_;
  MappingTimings& timings_;
  Rank best_;
  std::int64_t most_cycles_ = 0;
};

}  // namespace

void run_full_search(const std::vector<TileSize>& tiles, const MapperOptions& options,
                     CandidateSource& source, MappingTimings& timings) {
  FullSearch(tiles, options, source, timings).run();
}

}  // namespace qsim
