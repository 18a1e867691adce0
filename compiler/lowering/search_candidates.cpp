#include "compiler/lowering/search_candidates.h"

#include <algorithm>
#include <tuple>

namespace qsim::compiler {
namespace {

template <typename Before>
std::vector<Candidate*> in_order(Candidates& candidates, Before before) {
  std::vector<Candidate*> ordered;
  for (Candidate& candidate : candidates) ordered.push_back(&candidate);
  std::stable_sort(ordered.begin(), ordered.end(), before);
  return ordered;
}

}  // namespace

void CandidateSource::collect(const TileSize& tile,
                              const std::function<bool(const Candidate&)>& wants,
                              Candidates& candidates) {
  MappingBounds bounds(planned_, arch_, *tile.rows, *tile.cols);
  Candidate candidate;
  for_each_chunking(planned_.geometry, arch_, options_, tile.rows->size, tile.cols->size,
                    [&](const Chunking& chunking) {
                      ++seen_;
                      const Mapping& mapping = chunking.mapping;
                      candidate.sums = bounds.sums(mapping, chunking.chunks);
                      const MappingSums& sums = candidate.sums;
                      candidate.cycles = std::max(bounds.least_cycles(mapping, sums),
                                                  sums.least_slot_cycles(mapping));
                      const double amount = amount_.least(mapping, *tile.rows, *tile.cols,
                                                          sums.bytes, sums.counts.all());
                      candidate.value = value_of({candidate.cycles, amount}, options_.objective);
                      if (!wants(candidate)) return;
                      candidate.chunking = chunking;
                      candidates.push_back(candidate);
                    });
}

std::vector<Candidate*> in_order_of_cycles(Candidates& candidates) {
  return in_order(candidates, [](const Candidate* a, const Candidate* b) {
    return std::tuple(a->cycles, a->value) < std::tuple(b->cycles, b->value);
  });
}

std::vector<Candidate*> in_order_of_rank(Candidates& candidates) {
  return in_order(candidates,
                  [](const Candidate* a, const Candidate* b) { return a->rank() < b->rank(); });
}

}  // namespace qsim::compiler
