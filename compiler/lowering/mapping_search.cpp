#include "compiler/lowering/mapping_search.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "compiler/lowering/layer_sums.h"
#include "compiler/lowering/mapping_space.h"
#include "compiler/lowering/tile_sizes.h"
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
  std::int64_t bytes = 0;   // with commands; at least so many; exact when timed
  std::int64_t cycles = 0;  // at least so many; exact when timed
  bool is_timed = false;
};

std::int64_t dram_bytes(const LayerCost& cost) {
  return static_cast<std::int64_t>(cost.read_bytes() + cost.write_bytes);
}

std::int64_t all_bytes(const LayerCost& cost) {
  return dram_bytes(cost) + kCommandBytes * static_cast<std::int64_t>(cost.commands);
}

class Search {
 public:
  Search(const PlannedLayer& planned, const ArchConfig& arch, const MapperOptions& options)
      : planned_(planned),
        g_(planned.geometry),
        arch_(arch),
        options_(options),
        sums_(planned, arch),
        sizes_(planned, arch, options),
        tile_sizes_(sizes_.in_order()) {}

  std::optional<MappedLayer> run() {
    if (options_.search == MappingSearch::kFast) {
      run_fast();
    } else {
      run_full();
    }
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
  };

  void collect(const TileSize& tile, std::vector<Candidate>& candidates) {
    for_each_mapping(
        g_, arch_, options_, tile.rows->size, tile.cols->size, [&](const Mapping& mapping) {
          ++candidates_;
          const LayerBytes bytes = sums_.bytes(mapping, *tile.rows, *tile.cols);
          candidates.push_back({mapping, bytes.all(),
                                bytes.all() + kCommandBytes * sums_.least_commands(mapping),
                                sums_.least_cycles(mapping, *tile.rows, *tile.cols, bytes), false});
        });
  }

  std::int64_t within_slack(std::int64_t cycles) const {
    return cycles + static_cast<std::int64_t>(static_cast<double>(cycles) * options_.slack);
  }

  // Makes the candidate's cycles exact. Null, and cycles that no mapping has, for a mapping that is
  // not valid: the space has some that are refused for a limit of a command, or for one weight
  // chunk more than slots.
  const LayerCost* time(Candidate& candidate) {
    if (find_fault(g_, candidate.mapping, arch_)) {
      candidate.cycles = std::numeric_limits<std::int64_t>::max();
      return nullptr;
    }
    timed_.push_back({candidate.mapping, cost_of(planned_, candidate.mapping, arch_)});
    const LayerCost& cost = timed_.back().cost;
    const auto cycles = static_cast<std::int64_t>(cost.cycles);
    QSIM_CHECK(dram_bytes(cost) == candidate.dram_bytes && all_bytes(cost) >= candidate.bytes &&
                   cycles >= candidate.cycles,
               planned_.layer->name + ": a mapping's bytes and cycles are not as its sums say: " +
                   mapping_text(candidate.mapping));
    candidate.cycles = cycles;
    candidate.bytes = all_bytes(cost);
    candidate.is_timed = true;
    return &cost;
  }

  void run_fast();
  bool time_fast(std::vector<Candidate>& candidates);
  void time_some(std::vector<Candidate>& candidates);
  bool is_timed(const Mapping& mapping) const;
  const LayerCost* time_within_budget(Candidate& candidate);
  void run_full();

  // Of the timed mappings, by the objective.
  MappedLayer chosen() const {
    const Timed* best = &timed_.front();
    const auto cycles = [](const Timed& t) { return static_cast<std::int64_t>(t.cost.cycles); };
    for (const Timed& t : timed_) {
      if (cycles(t) < cycles(*best)) best = &t;
    }
    const std::int64_t most = within_slack(cycles(*best));
    for (const Timed& t : timed_) {
      const bool allowed = options_.objective != Objective::kCycles || cycles(t) <= most;
      if (allowed && std::tuple(all_bytes(t.cost), t.cost.cycles) <
                         std::tuple(all_bytes(best->cost), best->cost.cycles)) {
        best = &t;
      }
    }
    return {best->mapping, best->cost, 0, 0};
  }

  const PlannedLayer& planned_;
  const LayerGeometry& g_;
  const ArchConfig& arch_;
  const MapperOptions& options_;
  LayerSums sums_;
  TileSizes sizes_;
  std::vector<TileSize> tile_sizes_;
  std::vector<Timed> timed_;
  std::int64_t candidates_ = 0;
  std::int64_t commands_left_ = kFastCommands;
};

bool fewer_bytes(const Candidate& a, const Candidate& b) {
  return std::tuple(a.bytes, a.cycles) < std::tuple(b.bytes, b.cycles);
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
                     [](const TileSize& a, const TileSize& b) { return a.bytes < b.bytes; });
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
                       return std::tuple(a.cycles, a.bytes) < std::tuple(b.cycles, b.bytes);
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
                     return std::tuple(a.bytes - a.dram_bytes, a.bytes) <
                            std::tuple(b.bytes - b.dram_bytes, b.bytes);
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
  const std::int64_t commands = (candidate.bytes - candidate.dram_bytes) / kCommandBytes;
  if (!timed_.empty() && commands > commands_left_) return nullptr;
  const LayerCost* cost = time(candidate);
  if (cost != nullptr) commands_left_ -= static_cast<std::int64_t>(cost->commands);
  return cost;
}

// True where a mapping is within the slack, or nearly, of what none of the candidates can beat.
bool Search::time_fast(std::vector<Candidate>& candidates) {
  if (candidates.empty()) return false;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const Candidate& c : candidates) least = std::min(least, c.cycles);
  std::stable_sort(candidates.begin(), candidates.end(), fewer_bytes);
  const std::int64_t most = within_slack(least);
  for (Candidate& c : candidates) {
    if (std::ssize(timed_) >= kFastTimed) break;
    const LayerCost* cost = time_within_budget(c);
    if (cost == nullptr) continue;
    if (static_cast<std::int64_t>(cost->cycles) <= most) return true;
  }
  const auto fewest = std::min_element(
      timed_.begin(), timed_.end(),
      [](const Timed& a, const Timed& b) { return a.cost.cycles < b.cost.cycles; });
  return fewest != timed_.end() &&
         static_cast<std::int64_t>(fewest->cost.cycles) <= least + least / kFastNear;
}

// First the fewest cycles: mappings whose bound is not below the fewest so far are not timed. Then,
// of those whose bound is within the slack, the fewest bytes first until one is within it.
void Search::run_full() {
  const bool by_cycles = options_.objective == Objective::kCycles;
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max() / 2;
  std::vector<Candidate> kept;
  for (const TileSize& tile : tile_sizes_) {
    if (by_cycles && tile.cycles > within_slack(fewest)) break;
    std::vector<Candidate> candidates;
    collect(tile, candidates);
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) {
                       return std::tuple(a.cycles, a.bytes) < std::tuple(b.cycles, b.bytes);
                     });
    for (Candidate& c : candidates) {
      if (by_cycles && c.cycles < fewest) time(c);
      if (c.is_timed && c.cycles < fewest) fewest = c.cycles;
      if (!by_cycles || c.cycles <= within_slack(fewest)) kept.push_back(c);
    }
  }
  std::stable_sort(kept.begin(), kept.end(), fewer_bytes);
  std::int64_t best_bytes = std::numeric_limits<std::int64_t>::max();
  for (Candidate& c : kept) {
    if (c.bytes > best_bytes) break;
    if (by_cycles && c.cycles > within_slack(fewest)) continue;
    if (!c.is_timed && time(c) == nullptr) continue;
    if (!by_cycles || c.cycles <= within_slack(fewest)) best_bytes = std::min(best_bytes, c.bytes);
  }
}

}  // namespace

std::optional<MappedLayer> search_mappings(const PlannedLayer& planned, const ArchConfig& arch,
                                           const MapperOptions& options) {
  return Search(planned, arch, options).run();
}

}  // namespace qsim
