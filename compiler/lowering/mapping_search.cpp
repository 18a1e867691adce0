#include "compiler/lowering/mapping_search.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <tuple>

#include "compiler/lowering/full_search.h"
#include "core/error.h"

namespace qsim {
namespace {

// The fast search looks into this many sizes of psum tiles. It times mappings while they have no
// more than so many commands together, and so many of each kind that it looks for.
constexpr std::size_t kFastTileSizes = 10;
constexpr std::size_t kFastLargeTiles = 6;
constexpr std::int64_t kFastCommands = 80'000;
constexpr std::int64_t kFastTimed = 24;
// A layer that is within this part of its bound waits for nothing that other mappings avoid.
constexpr std::int64_t kFastNear = 100;

// A mapping that is not timed yet.
struct Candidate {
  Mapping mapping;
  std::int64_t dram_bytes = 0;
  std::int64_t commands = 0;  // at least so many
  double value = 0;           // at least so much; exact when timed
  std::int64_t cycles = 0;    // likewise
  bool is_timed = false;
};

std::int64_t dram_bytes(const LayerCost& cost) {
  return static_cast<std::int64_t>(cost.read_bytes() + cost.write_bytes);
}

// The fast search.
class Search {
 public:
  Search(const PlannedLayer& planned, const ArchConfig& arch, const MapperOptions& options)
      : planned_(planned),
        g_(planned.geometry),
        arch_(arch),
        options_(options),
        sums_(planned, arch),
        amount_(planned, arch, options),
        sizes_(planned, arch, options),
        tile_sizes_(sizes_.in_order()) {}

  std::optional<MappedLayer> run() {
    run_fast();
    if (timed_.empty()) return std::nullopt;
    MappedLayer best = chosen();
    best.candidates = candidates_;
    best.timed = static_cast<std::int64_t>(timed_.size());
    return best;
  }

 private:
  struct Timed {
    Mapping mapping;
    LayerCost cost;
    Score score;
  };

  void collect(const TileSize& tile, std::vector<Candidate>& candidates) {
    for_each_mapping(
        g_, arch_, options_, tile.rows->size, tile.cols->size, [&](const Mapping& mapping) {
          ++candidates_;
          const LayerBytes bytes = sums_.bytes(mapping, *tile.rows, *tile.cols);
          const std::int64_t commands = least_commands(mapping);
          const Score least = {sums_.least_cycles(mapping, *tile.rows, *tile.cols, bytes),
                               amount_.least(mapping, *tile.rows, *tile.cols, bytes, commands)};
          candidates.push_back({mapping, bytes.all(), commands, value_of(least, options_.objective),
                                least.cycles, false});
        });
  }

  // The mapping's commands but for those that a smaller first weight chunk adds.
  std::int64_t least_commands(const Mapping& mapping) const {
    ChunkCounts chunks = sums_.chunks(mapping);
    chunks.more_weights = 0;
    return sums_.counts(mapping, chunks).all();
  }

  // The budget is over, and there is a mapping to answer with.
  bool has_ended() {
    if (options_.budget_seconds <= 0 || timed_.empty()) return false;
    const std::chrono::duration<double> taken = Clock::now() - begin_;
    if (taken.count() >= options_.budget_seconds) is_complete_ = false;
    return !is_complete_;
  }

  std::int64_t within_slack(std::int64_t cycles) const { return most_cycles(cycles, options_); }

  // Makes the candidate's cycles exact. Null, and cycles that no mapping has, for a mapping that is
  // not valid: the space has some that are refused for a limit of a command, or for one weight
  // chunk more than slots.
  const LayerCost* time(Candidate& candidate) {
    if (find_fault(g_, candidate.mapping, arch_)) {
      candidate.cycles = std::numeric_limits<std::int64_t>::max();
      return nullptr;
    }
    const LayerCost cost = cost_of(planned_, candidate.mapping, arch_);
    const Score score = {static_cast<std::int64_t>(cost.cycles),
                         amount_.exact(candidate.mapping, cost)};
    timed_.push_back({candidate.mapping, cost, score});
    constexpr std::size_t kTold = 256;
    if (options_.on_progress && timed_.size() % kTold == 0) {
      options_.on_progress(std::ssize(timed_));
    }
    const double value = value_of(score, options_.objective);
    QSIM_CHECK(dram_bytes(cost) == candidate.dram_bytes && value >= candidate.value &&
                   score.cycles >= candidate.cycles,
               planned_.layer->name + ": a mapping's bytes and cycles are not as its sums say: " +
                   mapping_text(candidate.mapping));
    candidate.cycles = score.cycles;
    candidate.value = value;
    candidate.is_timed = true;
    return &timed_.back().cost;
  }

  void run_fast();
  bool time_fast(std::vector<Candidate>& candidates);
  void time_some(std::vector<Candidate>& candidates);
  bool is_timed(const Mapping& mapping) const;
  const LayerCost* time_within_budget(Candidate& candidate);

  // Of the timed mappings, by the objective.
  MappedLayer chosen() const {
    std::vector<Score> scores;
    for (const Timed& t : timed_) scores.push_back(t.score);
    const std::int64_t fewest = fewest_cycles();
    const Timed& best = timed_[best_of(scores, fewest, options_)];
    return {best.mapping, best.cost, best.score.amount, fewest, 0, 0, is_complete_};
  }

  std::int64_t fewest_cycles() const {
    std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
    for (const Timed& t : timed_) fewest = std::min(fewest, t.score.cycles);
    return fewest;
  }

  const PlannedLayer& planned_;
  const LayerGeometry& g_;
  const ArchConfig& arch_;
  const MapperOptions& options_;
  LayerSums sums_;
  ObjectiveAmount amount_;
  TileSizes sizes_;
  std::vector<TileSize> tile_sizes_;
  std::vector<Timed> timed_;
  std::int64_t candidates_ = 0;
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_ = Clock::now();
  bool is_complete_ = true;
  std::int64_t commands_left_ = kFastCommands;
};

bool less_value(const Candidate& a, const Candidate& b) {
  return std::tuple(a.value, a.cycles) < std::tuple(b.value, b.cycles);
}

// Takes the tile sizes whose bound is within the slack of the least, those with the fewest bytes
// first; where no mapping of them is valid, the next ones. Then times mappings, the fewest bytes
// first, until one is within the slack of what none can beat.
void Search::run_fast() {
  auto next = tile_sizes_.begin();
  while (timed_.empty() && next != tile_sizes_.end()) {
    const std::int64_t most = within_slack(next->cycles);
    const auto end = std::find_if(next, tile_sizes_.end(), [&](const TileSize& tile) {
      return options_.objective == Objective::kCycles && tile.cycles > most;
    });
    std::stable_sort(next, end,
                     [](const TileSize& a, const TileSize& b) { return a.value < b.value; });
    std::vector<Candidate> candidates;
    std::size_t taken = 0;
    for (; next != end && taken < kFastTileSizes; ++next) {
      const std::size_t before = candidates.size();
      collect(*next, candidates);
      if (candidates.size() > before) ++taken;
    }
    if (time_fast(candidates)) return;
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) {
                       return std::tuple(a.cycles, a.value) < std::tuple(b.cycles, b.value);
                     });
    time_some(candidates);
  }
  // Small layers wait for more than the bounds see. Large psum tiles and few commands wait least.
  std::stable_sort(tile_sizes_.begin(), tile_sizes_.end(),
                   [](const TileSize& a, const TileSize& b) {
                     return a.rows->size * a.cols->size > b.rows->size * b.cols->size;
                   });
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < std::min(kFastLargeTiles, tile_sizes_.size()); ++i) {
    collect(tile_sizes_[i], candidates);
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) {
                     return std::tuple(a.commands, a.value) < std::tuple(b.commands, b.value);
                   });
  time_some(candidates);
}

// The first kFastTimed that are valid and not timed yet, as far as the budget goes.
void Search::time_some(std::vector<Candidate>& candidates) {
  std::int64_t times = 0;
  for (Candidate& c : candidates) {
    if (times == kFastTimed) return;
    if (!is_timed(c.mapping) && time_within_budget(c) != nullptr) ++times;
  }
}

bool Search::is_timed(const Mapping& mapping) const {
  return std::any_of(timed_.begin(), timed_.end(),
                     [&](const Timed& t) { return t.mapping == mapping; });
}

// Null also where the commands of the mapping exceed what is left; but the first is always timed.
const LayerCost* Search::time_within_budget(Candidate& candidate) {
  if (has_ended() || (!timed_.empty() && candidate.commands > commands_left_)) return nullptr;
  const LayerCost* cost = time(candidate);
  if (cost != nullptr) commands_left_ -= static_cast<std::int64_t>(cost->commands);
  return cost;
}

// True where a mapping is within the slack, or nearly, of what none of the candidates can beat.
bool Search::time_fast(std::vector<Candidate>& candidates) {
  if (candidates.empty()) return false;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const Candidate& c : candidates) least = std::min(least, c.cycles);
  std::stable_sort(candidates.begin(), candidates.end(), less_value);
  const bool by_cycles = options_.objective == Objective::kCycles;
  const std::int64_t most = within_slack(least);
  double best = std::numeric_limits<double>::infinity();
  for (Candidate& c : candidates) {
    if (!by_cycles && c.value > best) return true;
    if (std::ssize(timed_) >= kFastTimed) break;
    if (time_within_budget(c) == nullptr) continue;
    if (by_cycles && c.cycles <= most) return true;
    best = std::min(best, c.value);
  }
  if (!by_cycles) return !timed_.empty();
  const auto fewest = std::min_element(
      timed_.begin(), timed_.end(),
      [](const Timed& a, const Timed& b) { return a.cost.cycles < b.cost.cycles; });
  return fewest != timed_.end() &&
         static_cast<std::int64_t>(fewest->cost.cycles) <= least + least / kFastNear;
}

}  // namespace

// The full search begins with what the fast one finds, which lets its bounds leave more out.
std::optional<MappedLayer> search_mappings(const PlannedLayer& planned, const ArchConfig& arch,
                                           const MapperOptions& options) {
  MapperOptions fast = options;
  fast.search = MappingSearch::kFast;
  MappingTimings timings(planned, arch, options);
  std::optional<MappedLayer> quick = Search(planned, arch, fast).run();
  if (options.search == MappingSearch::kFast) return quick;
  if (quick) timings.add(quick->mapping, quick->cost);
  const TileSizes sizes(planned, arch, options);
  CandidateSource source(planned, arch, options);
  const bool is_complete = run_full_search(sizes.in_order(), options, source, timings);
  std::optional<MappedLayer> best = timings.best();
  if (!best) return std::nullopt;
  best->candidates = source.seen();
  best->is_complete = is_complete;
  return best;
}

}  // namespace qsim
