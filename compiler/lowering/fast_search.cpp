#include "compiler/lowering/fast_search.h"

#include <algorithm>
#include <limits>
#include <map>

namespace qsim {
namespace {

// It looks into this many sizes of psum tiles, and into more while there are few chunkings.
constexpr std::size_t kTileSizes = 10;
constexpr std::size_t kChunkings = 2'500;
constexpr std::size_t kLargeTiles = 6;
// It times mappings while they have no more than so many commands together, and so many with the
// least values and with large tiles.
constexpr std::int64_t kCommands = 80'000;
constexpr std::int64_t kTimedByValue = 64;
constexpr std::int64_t kTimedLarge = 24;
// Each time that it looks for the fewest cycles, it times mappings of this part of the commands.
constexpr std::int64_t kShare = 4;
// Of mappings that differ in nothing but their weight chunks, it times so many.
constexpr int kOfAKind = 2;
// Where one is near its bound, the strictly fewest cycles are worth so many.
constexpr std::int64_t kTimedNear = 8;
// A layer that is within this part of its bound waits for nothing that other mappings avoid.
constexpr std::int64_t kNear = 100;

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

// What makes two mappings nearly the same: all but their weight chunks.
std::vector<std::int64_t> kind_of(const Mapping& m) {
  return {m.tile_rows,
          m.tile_cols,
          m.batch_inner,
          m.tiles_per_half,
          m.halves_per_pass,
          m.blocks,
          static_cast<std::int64_t>(m.order),
          m.act_planes,
          m.act_kernel_rows,
          m.acts_resident,
          m.weights_resident};
}

class FastSearch {
 public:
  FastSearch(const std::vector<TileSize>& tiles, const MapperOptions& options,
             CandidateSource& source, MappingTimings& timings)
      : tiles_(tiles), options_(options), source_(source), timings_(timings) {}

  void find_fewest_cycles() {
    bool is_near = false;  // to what no mapping can beat
    auto next = tiles_.begin();
    while (timings_.is_empty() && next != tiles_.end()) {
      Candidates candidates;
      next = collect_next(next, candidates);
      if (!candidates.empty()) is_near = search_cycles(candidates);
    }
    if (!is_near) search_large_tiles();
  }

  void find_least_rank() {
    Candidates candidates;
    collect_next(tiles_.begin(), candidates);
    time_least_rank(in_order_of_rank(candidates), most_cycles(timings_.fewest_cycles(), options_));
  }

 private:
  // Takes the tile sizes whose bound is within the slack of the least, those with the least value
  // first, and then others while there are few chunkings; where none of them has a mapping, the
  // next ones. Returns the next size.
  std::vector<TileSize>::iterator collect_next(std::vector<TileSize>::iterator next,
                                               Candidates& candidates) {
    const std::int64_t most = most_cycles(next->cycles, options_);
    const auto end =
        std::find_if(next, tiles_.end(), [&](const TileSize& t) { return t.cycles > most; });
    std::stable_sort(next, end,
                     [](const TileSize& a, const TileSize& b) { return a.value < b.value; });
    std::size_t taken = 0;
    for (; next != tiles_.end(); ++next) {
      if (taken >= kTileSizes && candidates.size() >= kChunkings) break;
      if (next >= end && candidates.size() >= kChunkings) break;
      const std::size_t before = candidates.size();
      source_.collect(
          *next, [](const Candidate&) { return true; }, candidates);
      if (candidates.size() > before) ++taken;
    }
    return next;
  }

  // The least rank within the slack of what none can beat. Where there is none, the fewest cycles
  // of a few, then the least rank within the slack of those. Whether the fewest cycles are near
  // what none can beat.
  bool search_cycles(Candidates& candidates) {
    const std::vector<Candidate*> by_rank = in_order_of_rank(candidates);
    const std::vector<Candidate*> by_bound = in_order_of_cycles(candidates);
    const std::int64_t least = by_bound.front()->cycles;
    auto next = by_bound.begin();
    time_least_rank(by_rank, most_cycles(least, options_));
    if (!timings_.is_empty()) {
      time_fewest_cycles(by_bound, next, kTimedNear);
    } else {
      time_fewest_cycles(by_bound, next, kNoLimit);
      if (timings_.is_empty()) take_first_valid(by_bound);
      for (std::int64_t fewest = 0; fewest != timings_.fewest_cycles();) {
        fewest = timings_.fewest_cycles();
        time_least_rank(by_rank, most_cycles(fewest, options_));
        time_fewest_cycles(by_bound, next, kNoLimit);
      }
    }
    return timings_.fewest_cycles() <= least + least / kNear;
  }

  // Whether the candidate's commands are within what is left.
  bool may_time(const Candidate& c, std::int64_t most_commands = kCommands) {
    return !timings_.is_over() && c.sums.counts.all() <= most_commands &&
           timings_.commands() + c.sums.counts.all() <= kCommands;
  }

  // All have many commands.
  void take_first_valid(const std::vector<Candidate*>& ordered) {
    for (const Candidate* c : ordered) {
      if (timings_.take(c->chunking.mapping, c->sums, c->cycles)) return;
    }
  }

  void time_fewest_cycles(const std::vector<Candidate*>& ordered,
                          std::vector<Candidate*>::const_iterator& next, std::int64_t most_timed) {
    const std::int64_t end = timings_.commands() + kCommands / kShare;
    std::int64_t times = 0;
    for (; next != ordered.end() && timings_.commands() < end; ++next) {
      const Candidate& c = **next;
      if (c.cycles >= timings_.fewest_cycles() || times >= most_timed) return;
      if (!may_time(c, kCommands / kShare)) continue;
      ++times;
      for (const Mapping& mapping : mappings_of(c.chunking, MappingSearch::kFast)) {
        timings_.time(mapping, c.sums, timings_.fewest_cycles() - 1);
      }
    }
  }

  // Until none after it can be better.
  void time_least_rank(const std::vector<Candidate*>& ordered, std::int64_t most) {
    std::map<std::vector<std::int64_t>, int> kinds;
    std::int64_t times = 0;
    Rank best = timings_.best_rank();
    for (const Candidate* c : ordered) {
      if (c->rank() >= best || times >= kTimedByValue) return;
      if (c->cycles > most || !may_time(*c)) continue;
      if (++kinds[kind_of(c->chunking.mapping)] > kOfAKind) continue;
      ++times;
      for (const Mapping& mapping : mappings_of(c->chunking, MappingSearch::kFast)) {
        timings_.time(mapping, c->sums, c->value < best.value ? most : std::min(most, best.cycles));
        best = timings_.best_rank();
      }
    }
  }

  // Small layers wait for more than the bounds see. Large psum tiles and few commands wait least.
  void search_large_tiles() {
    std::stable_sort(tiles_.begin(), tiles_.end(), [](const TileSize& a, const TileSize& b) {
      return a.rows->size * a.cols->size > b.rows->size * b.cols->size;
    });
    Candidates candidates;
    for (std::size_t i = 0; i < std::min(kLargeTiles, tiles_.size()); ++i) {
      source_.collect(
          tiles_[i], [&](const Candidate& c) { return c.cycles < timings_.fewest_cycles(); },
          candidates);
    }
    std::vector<Candidate*> ordered = in_order_of_rank(candidates);
    std::stable_sort(ordered.begin(), ordered.end(), [](const Candidate* a, const Candidate* b) {
      return a->sums.counts.all() < b->sums.counts.all();
    });
    std::int64_t times = 0;
    for (const Candidate* c : ordered) {
      if (times == kTimedLarge) return;
      if (c->cycles >= timings_.fewest_cycles() || !may_time(*c)) continue;
      ++times;
      for (const Mapping& mapping : mappings_of(c->chunking, MappingSearch::kFast)) {
        timings_.time(mapping, c->sums, most_cycles(timings_.fewest_cycles(), options_));
      }
    }
  }

  std::vector<TileSize> tiles_;
  const MapperOptions& options_;
  CandidateSource& source_;
  MappingTimings& timings_;
};

}  // namespace

void find_fewest_cycles_fast(const std::vector<TileSize>& tiles, const MapperOptions& options,
                             CandidateSource& source, MappingTimings& timings) {
  FastSearch(tiles, options, source, timings).find_fewest_cycles();
}

void find_least_rank_fast(const std::vector<TileSize>& tiles, const MapperOptions& options,
                          CandidateSource& source, MappingTimings& timings) {
  FastSearch(tiles, options, source, timings).find_least_rank();
}

}  // namespace qsim
