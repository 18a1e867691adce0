#include "compiler/verifier/dram_owners.h"

#include <algorithm>
#include <string>

namespace qsim::compiler::verifier {

DramOwners::DramOwners(std::vector<Region>& regions)
    : regions_(regions), successors_(regions.size()) {
  put(regions.front());
  for (std::size_t r = 1; r < regions.size(); ++r) {
    if (regions[r].first_store() != Region::kNobody) in_turn_.push_back(&regions[r]);
  }
  std::ranges::stable_sort(in_turn_, {}, &Region::first_store);
  find_successors();
}

void DramOwners::find_successors() {
  std::vector<const Region*> by_begin;
  for (const Region& region : regions_) by_begin.push_back(&region);
  std::ranges::stable_sort(by_begin, {}, &Region::begin);
  for (std::size_t i = 0; i < by_begin.size(); ++i) {
    for (std::size_t j = i + 1; j < by_begin.size() && by_begin[j]->begin() < by_begin[i]->end();
         ++j) {
      const Region* first = by_begin[i];
      const Region* second = by_begin[j];
      // Regions take turns by their first STOREs; the numbers decide where neither has one.
      const auto turn = [this](const Region* r) { return std::pair(r->first_store(), number(*r)); };
      if (turn(second) < turn(first)) std::swap(first, second);
      successors_[number(*first)].push_back(second);
    }
  }
}

void DramOwners::check_turns(Violations& violations) const {
  for (const Region& region : regions_) {
    for (const Region* next : successors(region)) {
      const std::string text = next->name() + " overlaps " + region.name();
      const bool is_stored = number(region) == 0 || region.first_store() != Region::kNobody;
      if (next->first_store() == Region::kNobody) {
        violations.add(text + ", and nobody stores it");
      } else if (!is_stored) {
        violations.add(region.name() + " overlaps " + next->name() + ", and nobody stores it");
      } else if (region.last_store() >= next->first_store()) {
        violations.add(text + ", whose last STORE is " + std::to_string(region.last_store()) +
                       "; its own first STORE is " + std::to_string(next->first_store()));
      } else if (&region == &regions_.back()) {
        violations.add(text + ", which is the output and must stay");
      }
    }
  }
}

void DramOwners::advance(std::int64_t stores) {
  stores_ = stores;
  for (; next_ < in_turn_.size() && has_begun(*in_turn_[next_]); ++next_) put(*in_turn_[next_]);
}

void DramOwners::put(Region& region) {
  auto first = owners_.upper_bound(region.begin());
  if (first != owners_.begin() && std::prev(first)->second->end() > region.begin()) --first;
  owners_.erase(first, owners_.lower_bound(region.end()));
  owners_[region.begin()] = &region;
  last_ = nullptr;
}

Region* DramOwners::region_of(std::int64_t address, std::int64_t bytes) {
  if (last_ != nullptr && last_->contains(address, bytes)) return last_;
  const auto after = owners_.upper_bound(address);
  if (after != owners_.begin() && std::prev(after)->second->contains(address, bytes)) {
    return last_ = std::prev(after)->second;
  }
  const auto later = std::ranges::find_if(
      regions_, [&](const Region& r) { return r.contains(address, bytes) && !has_begun(r); });
  return later == regions_.end() ? nullptr : &*later;
}

const Region* DramOwners::overwritten(std::int64_t address) const {
  const auto is_there = [this](const Region& r) {
    const auto found = owners_.find(r.begin());
    return found != owners_.end() && found->second == &r;
  };
  const auto before = std::ranges::find_if(regions_, [&](const Region& r) {
    return r.contains(address, 1) && has_begun(r) && !is_there(r);
  });
  return before == regions_.end() ? nullptr : &*before;
}

}  // namespace qsim::compiler::verifier
