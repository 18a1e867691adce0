// Which tensor has a byte of DRAM when a LOAD starts. Tensors may share bytes: each has them from
// its first STORE to the first STORE of the next one there. Derived from STOREs and tokens alone.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "compiler/verifier/region.h"
#include "compiler/verifier/violations.h"

namespace qsim::compiler::verifier {

class DramOwners {
 public:
  // The STOREs of `regions` are known; the first region is the input, which is there from the
  // start. `regions` must outlive this object and stay where it is.
  explicit DramOwners(std::vector<Region>& regions);

  // Reports tensors that share bytes and are not written one after the other: a tensor must be
  // whole before the next one begins, and the last one, which is the output, must stay.
  void check_turns(Violations& violations) const;

  // What the first `stores` STOREs have left. Never fewer than before.
  void advance(std::int64_t stores);

  // The tensor that has all these bytes now; else one that will have them; else null.
  Region* region_of(std::int64_t address, std::int64_t bytes);
  // A tensor that had this byte before another one; null when there is none.
  const Region* overwritten(std::int64_t address) const;
  // The tensors that begin after `region` and share bytes with it.
  const std::vector<const Region*>& successors(const Region& region) const {
    return successors_[number(region)];
  }

 private:
  std::size_t number(const Region& region) const {
    return static_cast<std::size_t>(&region - regions_.data());
  }
  bool has_begun(const Region& region) const {
    return &region == regions_.data() ||
           (region.first_store() != Region::kNobody && region.first_store() < stores_);
  }
  void find_successors();
  void put(Region& region);

  std::vector<Region>& regions_;
  std::vector<std::vector<const Region*>> successors_;  // as regions_
  std::vector<Region*> in_turn_;                        // by first STORE; those that have one
  std::size_t next_ = 0;                                // of these
  std::int64_t stores_ = 0;
  std::map<std::int64_t, Region*> owners_;  // by the first byte; they share none
  Region* last_ = nullptr;                  // found in owners_
};

}  // namespace qsim::compiler::verifier
