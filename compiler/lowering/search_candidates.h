// Mappings that a search has not timed yet, with what is known of them before.
#pragma once

#include <deque>
#include <functional>
#include <vector>

#include "compiler/lowering/mapping_bounds.h"
#include "compiler/lowering/mapping_space.h"
#include "compiler/lowering/objective.h"
#include "compiler/lowering/tile_sizes.h"

namespace qsim::compiler {

// A chunking. Its mappings have no fewer cycles and no smaller value of the objective.
struct Candidate {
  Chunking chunking;
  MappingSums sums;
  std::int64_t cycles = 0;
  double value = 0;

  // No mapping of it has a smaller one.
  Rank rank() const { return {value, cycles, sums.counts.all()}; }
};

// Thousands of hundreds of bytes each: they grow without being moved, in pieces that the next
// search gets again.
using Candidates = std::deque<Candidate>;

class CandidateSource {
 public:
  // All must outlive it.
  CandidateSource(const PlannedLayer& planned, const ArchConfig& arch, const MapperOptions& options)
      : planned_(planned), arch_(arch), options_(options), amount_(planned, arch, options) {}

  // Appends those of a size of psum tiles that `wants`, in the order of the space.
  void collect(const TileSize& tile, const std::function<bool(const Candidate&)>& wants,
               Candidates& candidates);

  std::int64_t seen() const { return seen_; }

 private:
  const PlannedLayer& planned_;
  const ArchConfig& arch_;
  const MapperOptions& options_;
  ObjectiveAmount amount_;
  std::int64_t seen_ = 0;
};

// Pointers to the candidates: by (cycles, value), or by rank.
std::vector<Candidate*> in_order_of_cycles(Candidates& candidates);
std::vector<Candidate*> in_order_of_rank(Candidates& candidates);

}  // namespace qsim::compiler
