#include "compiler/verifier/dram_transfers.h"

#include <algorithm>
#include <string>

#include "core/program_text.h"

namespace qsim::verifier {
namespace {

constexpr std::int32_t kNobody = -1;

// Calls visit(address) for every run of a LOAD or STORE.
template <typename Transfer, typename Visit>
void for_each_run(const Transfer& c, Visit visit) {
  for (std::int64_t g = 0; g < c.groups; ++g) {
    for (std::int64_t r = 0; r < c.runs; ++r) {
      visit(std::int64_t{c.dram_addr} + g * c.group_stride + r * c.run_stride);
    }
  }
}

// A tensor in DRAM as cells of min(R, C) bytes: which of them are stored, and, once that is asked,
// by which STORE. LOAD and STORE words are whole cells, because R and C are powers of two.
class Region {
 public:
  Region(std::string name, const DramTensor& tensor, std::int64_t cell_bytes)
      : name_(std::move(name)),
        tensor_(tensor),
        cell_bytes_(cell_bytes),
        is_stored_(static_cast<std::size_t>(tensor.size_bytes() / cell_bytes), false) {}

  const std::string& name() const { return name_; }
  bool contains(std::int64_t address, std::int64_t bytes) const {
    return address >= tensor_.address && address + bytes <= tensor_.address + tensor_.size_bytes();
  }
  // Whether a word at `address` would be one of the layout's.
  bool is_word(std::int64_t address, std::int64_t word_bytes) const {
    return (address - tensor_.address) % word_bytes == 0;
  }

  // Calls visit(cell number) for the cells of a run.
  template <typename Visit>
  void for_each_cell(std::int64_t address, std::int64_t bytes, Visit visit) const {
    const std::int64_t first = (address - tensor_.address) / cell_bytes_;
    for (std::int64_t i = first; i < first + bytes / cell_bytes_; ++i) {
      visit(static_cast<std::size_t>(i));
    }
  }

  bool is_stored(std::size_t cell) const { return is_stored_[cell]; }
  void set_stored(std::size_t cell, std::int32_t store) {
    is_stored_[cell] = true;
    last_store_ = std::max(last_store_, store);
    if (knows_stores()) stored_by_[cell] = store;
  }
  std::int32_t last_store() const { return last_store_; }

  // Four bytes a cell, which only a program with a fault or with LOADs of unfinished ofmaps needs.
  bool knows_stores() const { return !stored_by_.empty(); }
  void know_stores() { stored_by_.assign(is_stored_.size(), kNobody); }
  std::int32_t stored_by(std::size_t cell) const { return stored_by_[cell]; }
  std::size_t cells() const { return is_stored_.size(); }

  // The element at the beginning of a cell; its channel may lie beyond the channels.
  struct Element {
    std::int64_t n, y, x, c;
  };
  Element element(std::size_t cell) const {
    const ImageShape& shape = tensor_.value.shape;
    const std::int64_t byte = static_cast<std::int64_t>(cell) * cell_bytes_;
    const std::int64_t pixel = byte / tensor_.block;
    const std::int64_t plane = pixel / (shape.height * shape.width);
    return {plane / tensor_.blocks(), pixel / shape.width % shape.height, pixel % shape.width,
            plane % tensor_.blocks() * tensor_.block + byte % tensor_.block};
  }
  bool holds_elements(std::size_t cell) const {
    return element(cell).c < tensor_.value.shape.channels;
  }

 private:
  std::string name_;
  const DramTensor& tensor_;
  std::int64_t cell_bytes_;
  std::vector<bool> is_stored_;
  std::vector<std::int32_t> stored_by_;
  std::int32_t last_store_ = kNobody;
};

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
      if (!region.contains(address, store.run_bytes) ||
          !region.is_word(address, program_.arch.array_cols)) {
        return fault(Unit::kStore, index,
                     "stores " + run_text(address, store.run_bytes) +
                         ", which are no words of the " + region.name());
      }
      region.for_each_cell(address, store.run_bytes, [&](std::size_t cell) {
        if (region.is_stored(cell)) {
          const std::int32_t by = store_of(region, cell, index);
          fault(Unit::kStore, index,
                "stores " + element_text(region, cell) + " a second time, after " +
                    command_label(program_, Unit::kStore, static_cast<std::size_t>(by)));
        }
        region.set_stored(cell, static_cast<std::int32_t>(index));
      });
    });
  }

  void check_complete(const Region& region) {
    for (std::size_t cell = 0; cell < region.cells(); ++cell) {
      if (region.is_stored(cell) || !region.holds_elements(cell)) continue;
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
        const auto store = stores.fields<Store>(i);
        for_each_run(store, [&](std::int64_t address) {
          if (!region.contains(address, store.run_bytes)) return;  // reported before
          region.for_each_cell(address, store.run_bytes, [&](std::size_t stored) {
            region.set_stored(stored, static_cast<std::int32_t>(i));
          });
        });
      }
    }
    return region.stored_by(cell);
  }

  void check_activations(std::size_t index, const Load& load) {
    reported_ = false;
    Region* region = nullptr;
    for_each_run(load, [&](std::int64_t address) {
      if (region == nullptr || !region->contains(address, load.run_bytes)) {
        const auto found = std::find_if(regions_.begin(), regions_.end(), [&](const Region& r) {
          return r.contains(address, load.run_bytes);
        });
        region = found == regions_.end() ? nullptr : &*found;
      }
      if (region == nullptr || !region->is_word(address, program_.arch.array_rows)) {
        return fault(Unit::kLoad, index,
                     "loads " + run_text(address, load.run_bytes) +
                         ", which are no words of the input or of an ofmap");
      }
      if (region != &regions_[0]) check_stored(index, *region, address, load.run_bytes);
    });
  }

  void check_stored(std::size_t index, Region& region, std::int64_t address, std::int64_t bytes) {
    // Most LOADs start when the whole ofmap is stored.
    const std::int64_t done = order_.known_done_count(Unit::kStore, {Unit::kLoad, index});
    if (region.last_store() < done) return;
    region.for_each_cell(address, bytes, [&](std::size_t cell) {
      if (reported_ || !region.is_stored(cell)) return;  // not stored: lanes beyond the channels
      const std::int32_t by = store_of(region, cell, program_.stream(Unit::kStore).size());
      if (by < done) return;
      fault(Unit::kLoad, index,
            "loads " + element_text(region, cell) + " before " +
                command_label(program_, Unit::kStore, static_cast<std::size_t>(by)) +
                " is known to be done");
    });
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
  bool reported_ = false;
};

}  // namespace

void check_dram(const Program& program, const TokenOrder& order, Violations& violations) {
  DramCheck(program, order, violations).run();
}

}  // namespace qsim::verifier
