#include <algorithm>
#include <optional>
#include <string>

#include "compiler/verifier/checks.h"
#include "compiler/verifier/dram_owners.h"
#include "compiler/verifier/region.h"
#include "core/machine/program_text.h"

namespace qsim::compiler::verifier {
namespace {

// Calls visit(address) for every run of a LOAD or STORE.
template <typename Transfer, typename Visit>
void for_each_run(const Transfer& c, Visit visit) {
  for (std::int64_t g = 0; g < c.groups; ++g) {
    for (std::int64_t r = 0; r < c.runs; ++r) {
      visit(std::int64_t{c.dram_addr} + g * c.group_stride + r * c.run_stride);
    }
  }
}

// Bytes from a transfer's first to its last, whatever is left out between runs.
template <typename Transfer>
std::int64_t spanned_bytes(const Transfer& c) {
  return (std::int64_t{c.groups} - 1) * c.group_stride + (std::int64_t{c.runs} - 1) * c.run_stride +
         c.run_bytes;
}

// Whether all runs begin a multiple of `word_bytes`, a power of two, after the first.
template <typename Transfer>
bool runs_begin_words(const Transfer& c, std::int64_t word_bytes) {
  const std::int64_t strides =
      (c.runs > 1 ? c.run_stride : 0) | (c.groups > 1 ? c.group_stride : 0);
  return (strides & (word_bytes - 1)) == 0;
}

std::string element_text(const Region& region, std::size_t cell) {
  const Region::Element e = region.element(cell);
  return region.name() + " element (n " + std::to_string(e.n) + ", y " + std::to_string(e.y) +
         ", x " + std::to_string(e.x) + ", c " + std::to_string(e.c) + ")";
}

class DramCheck {
 public:
  DramCheck(const Program& program, const TokenOrder& order, Violations& violations)
      : program_(program), order_(order), violations_(violations) {
    const std::int64_t cell = std::min(program.arch.array_rows, program.arch.array_cols);
    regions_.emplace_back("input", program.input.tensor, cell);
    for (const ProgramLayer& layer : program.layers) {
      regions_.emplace_back("ofmap of " + layer.name, layer.ofmap, cell);
    }
  }

  void run() {
    const CommandStream stores = program_.stream(Unit::kStore);
    for (std::size_t i = 0; i < stores.size(); ++i) {
      check_store(i, stores.fields<Store>(i));
    }
    for (std::size_t r = 1; r < regions_.size(); ++r) check_complete(regions_[r]);
    owners_.emplace(regions_);
    owners_->check_turns(violations_);
    const CommandStream loads = program_.stream(Unit::kLoad);
    for (std::size_t i = 0; i < loads.size(); ++i) {
      const auto load = loads.fields<Load>(i);
      if (load.memory == static_cast<std::uint32_t>(LoadMemory::kActivation)) {
        check_activations(i, load);
      } else {
        check_constants(i, load);
      }
    }
  }

 private:
  void fault(Unit unit, std::size_t index, const std::string& text) {
    if (reported_) return;
    reported_ = true;
    violations_.add(unit, index, text);
  }

  static std::string run_text(std::int64_t address, std::int64_t bytes) {
    return "bytes " + std::to_string(address) + ".." + std::to_string(address + bytes) + " of DRAM";
  }

  void check_store(std::size_t index, const Store& store) {
    reported_ = false;
    const std::int32_t layer = program_.stream(Unit::kStore).origin(index).layer;
    Region& region = regions_[static_cast<std::size_t>(layer) + 1];
    for_each_run(store, [&](std::int64_t address) {
      if (!holds_run(region, address, store)) {
        return fault(Unit::kStore, index,
                     "stores " + run_text(address, store.run_bytes) +
                         ", which are no words of the " + region.name());
      }
      const Region::Cells cells = region.cells_of(address, store.run_bytes);
      const std::size_t stored = region.first_stored(cells);
      if (stored != cells.end && !reported_) stored_twice(index, store, region, stored);
      region.set_stored(cells, static_cast<std::int32_t>(index));
    });
  }

  bool holds_run(const Region& region, std::int64_t address, const Store& store) const {
    return region.contains(address, store.run_bytes) &&
           region.is_word(address, program_.arch.array_cols);
  }

  void stored_twice(std::size_t index, const Store& store, Region& region, std::size_t cell) {
    std::int32_t by = store_of(region, cell, index);
    if (by == Region::kNobody)
      by = static_cast<std::int32_t>(index);  // an earlier run of the same STORE
    fault(Unit::kStore, index,
          "stores " + element_text(region, cell) + " a second time, after " +
              command_label(program_, Unit::kStore, static_cast<std::size_t>(by)));
    set_stored(region, store, index);  // store_of() knows nothing of its runs up to here
  }

  void set_stored(Region& region, const Store& store, std::size_t index) {
    for_each_run(store, [&](std::int64_t address) {
      if (!holds_run(region, address, store)) return;
      region.set_stored(region.cells_of(address, store.run_bytes),
                        static_cast<std::int32_t>(index));
    });
  }

  void check_complete(const Region& region) {
    for (std::size_t cell = region.next_missing(0); cell < region.cells();
         cell = region.next_missing(cell + 1)) {
      if (!region.holds_elements(cell)) continue;
      violations_.add("nobody stores " + element_text(region, cell));
      return;
    }
  }

  // The last STORE before command `end` that writes a stored cell.
  std::int32_t store_of(Region& region, std::size_t cell, std::size_t end) {
    if (!region.knows_stores()) {
      region.know_stores();
      const auto layer = static_cast<std::int32_t>(&region - regions_.data()) - 1;
      const CommandStream stores = program_.stream(Unit::kStore);
      for (std::size_t i = 0; i < end; ++i) {
        if (stores.origin(i).layer != layer) continue;
        set_stored(region, stores.fields<Store>(i), i);
      }
    }
    return region.stored_by(cell);
  }

  // So many STOREs, from the first on, are certainly done when a LOAD starts.
  std::int64_t stores_done(std::size_t load) const {
    return order_.known_done_count(Unit::kStore, {Unit::kLoad, load});
  }

  // Most LOADs read words of one region, all of them stored before; then no run can be at fault.
  bool reads_what_is_done(std::size_t index, const Load& load) {
    const std::int64_t word_bytes = program_.arch.array_rows;
    const Region* region = owners_->region_of(load.dram_addr, spanned_bytes(load));
    return region != nullptr && region->is_word(load.dram_addr, word_bytes) &&
           runs_begin_words(load, word_bytes) &&
           (region == &regions_[0] || region->last_store() < stores_done(index)) &&
           keeps_its_bytes(index, *region);
  }

  void check_activations(std::size_t index, const Load& load) {
    reported_ = false;
    owners_->advance(stores_done(index));
    if (reads_what_is_done(index, load)) return;
    for_each_run(load, [&](std::int64_t address) {
      if (check_run(index, address, load.run_bytes)) return;
      const Region* before = owners_->overwritten(address);
      fault(Unit::kLoad, index,
            "loads " + run_text(address, load.run_bytes) +
                (before == nullptr ? ", which are no words of the input or of an ofmap"
                                   : ", which are no words of a tensor that is there; " +
                                         before->name() + " was there before"));
    });
  }

  // Whether no tensor that shares bytes with this one can begin before the LOAD is done.
  bool keeps_its_bytes(std::size_t load, const Region& region) const {
    return std::ranges::all_of(owners_->successors(region), [&](const Region* next) {
      return next->first_store() == Region::kNobody || loads_done(next->first_store()) > load;
    });
  }

  // So many LOADs, from the first on, are certainly done when a STORE starts.
  std::size_t loads_done(std::int32_t store) const {
    return order_.known_done_count(Unit::kLoad, {Unit::kStore, static_cast<std::size_t>(store)});
  }

  // Finds a STORE of another tensor that may write the bytes before the LOAD has read them. Those
  // that are known to be done when it starts are those of an earlier tensor.
  void check_kept(std::size_t load, const Region& region, std::int64_t address,
                  std::int64_t bytes) {
    if (keeps_its_bytes(load, region)) return;
    for (const Region* next : owners_->successors(region)) {
      if (next->begin() >= address + bytes || address >= next->end()) continue;
      for (std::int32_t s = next->first_store(); s != Region::kNobody && s <= next->last_store();
           ++s) {
        if (loads_done(s) > load) break;  // and when all later ones start
        check_store_keeps(load, region, static_cast<std::size_t>(s), address, bytes);
      }
    }
  }

  void check_store_keeps(std::size_t load, const Region& region, std::size_t store,
                         std::int64_t address, std::int64_t bytes) {
    const auto fields = program_.stream(Unit::kStore).fields<Store>(store);
    for_each_run(fields, [&](std::int64_t stored) {
      if (stored >= address + bytes || address >= stored + fields.run_bytes) return;
      fault(Unit::kLoad, load,
            "loads " + element_text(region, region.cells_of(std::max(address, stored), 0).begin) +
                ", which " + command_label(program_, Unit::kStore, store) +
                " may overwrite before it is read");
    });
  }

  // Checks what STOREs a run reads; false where they are not words of a tensor, or of the ofmaps
  // that a concatenation joins.
  bool check_run(std::size_t index, std::int64_t address, std::int64_t bytes) {
    const std::int64_t word_bytes = program_.arch.array_rows;
    const std::int64_t end = address + bytes;
    std::vector<Region*> regions;  // one after the other
    for (std::int64_t at = address; at < end; at = regions.back()->end()) {
      Region* region = owners_->region_of(at, word_bytes);
      if (region == nullptr || !region->is_word(at, word_bytes)) return false;
      const bool joins = regions.empty() ||
                         (regions.back() != &regions_[0] && regions.back()->goes_on_in(*region));
      if (!joins) return false;
      regions.push_back(region);
    }
    for (Region* region : regions) {
      const std::int64_t piece = std::min(end, region->end()) - address;
      if (region != &regions_[0]) check_stored(index, *region, address, piece);
      check_kept(index, *region, address, piece);
      address += piece;
    }
    return true;
  }

  void check_stored(std::size_t index, Region& region, std::int64_t address, std::int64_t bytes) {
    const std::int64_t done = stores_done(index);
    if (region.last_store() < done) return;
    const Region::Cells cells = region.cells_of(address, bytes);
    for (std::size_t cell = cells.begin; cell < cells.end && !reported_; ++cell) {
      if (!region.is_stored(cell)) continue;  // lanes beyond the channels
      const std::int32_t by = store_of(region, cell, program_.stream(Unit::kStore).size());
      if (by < done) continue;
      fault(Unit::kLoad, index,
            "loads " + element_text(region, cell) + " before " +
                command_label(program_, Unit::kStore, static_cast<std::size_t>(by)) +
                " is known to be done");
    }
  }

  void check_constants(std::size_t index, const Load& load) {
    reported_ = false;
    for_each_run(load, [&](std::int64_t address) {
      const auto holds = [&](const DramSegment& segment) {
        return address >= segment.address &&
               address + load.run_bytes <=
                   segment.address + static_cast<std::int64_t>(segment.bytes.size());
      };
      const auto after = std::upper_bound(
          program_.segments.begin(), program_.segments.end(), address,
          [](std::int64_t a, const DramSegment& segment) { return a < segment.address; });
      if (after != program_.segments.begin() && holds(*(after - 1))) return;
      fault(Unit::kLoad, index,
            "loads " + run_text(address, load.run_bytes) + ", which are in no segment");
    });
  }

  const Program& program_;
  const TokenOrder& order_;
  Violations& violations_;
  std::vector<Region> regions_;  // the input, then each layer's ofmap
  std::optional<DramOwners> owners_;
  bool reported_ = false;
};

}  // namespace

void check_dram(const Program& program, const TokenOrder& order, Violations& violations) {
  DramCheck(program, order, violations).run();
}

}  // namespace qsim::compiler::verifier
