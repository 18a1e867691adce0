#include "compiler/lowering/mapping_search.h"

#include "compiler/lowering/fast_search.h"
#include "compiler/lowering/full_search.h"
#include "compiler/lowering/tile_sizes.h"

namespace qsim {
namespace {

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

}  // namespace qsim
