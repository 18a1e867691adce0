#include "compiler/lowering/mapping_search.h"

#include <algorithm>
#include <limits>
#include <map>

#include "compiler/lowering/mapping_timings.h"
#include "compiler/lowering/search_candidates.h"
#include "compiler/lowering/tile_sizes.h"

namespace qsim::compiler {
namespace {

// The fast search: a bounded number of timings, of the mappings that the bounds rank first.
// docs/reference/mapping.md#the-searches describes it.

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

// Both: `tiles` are those of TileSizes, in its order. Counts decide, never the clock, but for the
// options' budget.

// Of Objective::kCycles. Times one mapping at least, if there is one.
void find_fewest_cycles_fast(const std::vector<TileSize>& tiles, const MapperOptions& options,
                             CandidateSource& source, MappingTimings& timings) {
  FastSearch(tiles, options, source, timings).find_fewest_cycles();
}

// The least rank of the options' objective. `timings` has a mapping, which bounds this search; of
// Objective::kCycles one with the fewest cycles.
void find_least_rank_fast(const std::vector<TileSize>& tiles, const MapperOptions& options,
                          CandidateSource& source, MappingTimings& timings) {
  FastSearch(tiles, options, source, timings).find_least_rank();
}

// The full search: the best mapping of the whole space. docs/reference/mapping.md#the-searches says
// why it is.
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

  // Takes the mappings whose bounds allow the least rank, the least bound first, until no other one
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

// Times mappings until the best of them is the best of the space, or until timings.is_over().
// `tiles` are those of TileSizes, in its order. What `timings` has
// already bounds the search from its begin on.
void run_full_search(const std::vector<TileSize>& tiles, const MapperOptions& options,
                     CandidateSource& source, MappingTimings& timings) {
  FullSearch(tiles, options, source, timings).run();
}

// What every search of a layer begins with, whatever its objective and slack.
MapperOptions common_options(const MapperOptions& options) {
  MapperOptions common;
  common.dataflow = options.dataflow;
  common.on_progress = options.on_progress;
  common.is_over = options.is_over;
  common.ends_long_timings_alone = options.search == MappingSearch::kFull;
  return common;
}

// Whether the best mapping is the best of those that every search begins with.
bool takes_common(const MapperOptions& options) {
  return options.objective == Objective::kCycles && options.slack <= MapperOptions().slack;
}

class LayerSearch {
 public:
  LayerSearch(const PlannedLayer& planned, const ArchConfig& arch, const MapperOptions& options)
      : planned_(planned), arch_(arch), options_(options) {}

  std::optional<MappedLayer> run() {
    const MapperOptions common = common_options(options_);
    MappingTimings first(planned_, arch_, common);
    with_tiles(common, [&](const auto& tiles, CandidateSource& source) {
      find_fewest_cycles_fast(tiles, common, source, first);
    });
    if (first.is_empty()) return std::nullopt;
    MapperOptions fast = options_;
    fast.search = MappingSearch::kFast;
    fast.ends_long_timings_alone = common.ends_long_timings_alone;
    MappingTimings timings(planned_, arch_, fast, first.fewest_cycles());
    timings.add(first);
    if (!takes_common(options_) && (!first.has_ended() || fast.ends_long_timings_alone)) {
      with_tiles(fast, [&](const auto& tiles, CandidateSource& source) {
        find_least_rank_fast(tiles, fast, source, timings);
      });
    }
    if (options_.search == MappingSearch::kFull) return run_full(timings);
    return found(timings, !first.has_ended() && !timings.has_ended());
  }

 private:
  // It begins with what the fast search has timed: its bounds leave more out then, and where the
  // budget ends it, its choice is not worse.
  std::optional<MappedLayer> run_full(const MappingTimings& fast) {
    MappingTimings timings(planned_, arch_, options_);
    timings.add(fast);
    with_tiles(options_, [&](const auto& tiles, CandidateSource& source) {
      run_full_search(tiles, options_, source, timings);
    });
    return found(timings, !timings.has_ended());
  }

  template <typename Search>
  void with_tiles(const MapperOptions& options, Search search) {
    const TileSizes sizes(planned_, arch_, options);
    CandidateSource source(planned_, arch_, options);
    search(sizes.in_order(), source);
    seen_ += source.seen();
  }

  MappedLayer found(const MappingTimings& timings, bool is_complete) const {
    MappedLayer best = timings.best();
    best.candidates = seen_;
    best.is_complete = is_complete;
    return best;
  }

  const PlannedLayer& planned_;
  const ArchConfig& arch_;
  const MapperOptions& options_;
  std::int64_t seen_ = 0;  // mappings that were looked at
};

}  // namespace

std::optional<MappedLayer> search_mappings(const PlannedLayer& planned, const ArchConfig& arch,
                                           const MapperOptions& options) {
  return LayerSearch(planned, arch, options).run();
}

}  // namespace qsim::compiler
