// What the verifier knows of one tensor in DRAM: where it is, and which of its bytes STOREs write.
#pragma once

#include <algorithm>
#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "core/base/bit_set.h"
#include "core/machine/dram_layout.h"

namespace qsim::compiler::verifier {

// A tensor in DRAM as cells of min(R, C) bytes: which of them are stored, and, once that is asked,
// by which STORE. LOAD and STORE words are whole cells, because R and C are powers of two.
class Region {
 public:
  static constexpr std::int32_t kNobody = -1;

  Region(std::string name, const DramTensor& tensor, std::int64_t cell_bytes)
      : name_(std::move(name)),
        tensor_(tensor),
        cell_bytes_(cell_bytes),
        cell_shift_(std::countr_zero(static_cast<std::uint64_t>(cell_bytes))),
        begin_(tensor.address),
        end_(tensor.address + tensor.size_bytes()),
        is_stored_(static_cast<std::size_t>(tensor.size_bytes() / cell_bytes)) {}

  const std::string& name() const { return name_; }
  bool contains(std::int64_t address, std::int64_t bytes) const {
    return address >= begin_ && address + bytes <= end_;
  }
  std::int64_t begin() const { return begin_; }
  std::int64_t end() const { return end_; }
  // Whether `next` begins where this one ends, with as many rows and columns of one picture: so the
  // operands of a concatenation are.
  bool goes_on_in(const Region& next) const {
    const ImageShape& a = tensor_.value.shape;
    const ImageShape& b = next.tensor_.value.shape;
    return end_ == next.begin_ && a.batch == 1 && b.batch == 1 && a.height == b.height &&
           a.width == b.width;
  }
  // Whether a word at `address`, which is in the region, would be one of the layout's.
  bool is_word(std::int64_t address, std::int64_t word_bytes) const {
    return ((address - begin_) & (word_bytes - 1)) == 0;
  }

  // Cells [begin, end) of a run.
  struct Cells {
    std::size_t begin, end;
  };
  Cells cells_of(std::int64_t address, std::int64_t bytes) const {
    const auto begin = static_cast<std::size_t>((address - begin_) >> cell_shift_);
    return {begin, begin + static_cast<std::size_t>(bytes >> cell_shift_)};
  }

  bool is_stored(std::size_t cell) const { return is_stored_[cell]; }
  // The first of the cells that is stored; cells.end when none is.
  std::size_t first_stored(Cells cells) const {
    return is_stored_.next_set(cells.begin, cells.end);
  }
  // The first cell from `cell` on that is not stored; cells() when all are.
  std::size_t next_missing(std::size_t cell) const { return is_stored_.next_clear(cell, cells()); }
  void set_stored(Cells cells, std::int32_t store) {
    is_stored_.set(cells.begin, cells.end);
    if (first_store_ == kNobody) first_store_ = store;
    last_store_ = std::max(last_store_, store);
    if (!knows_stores()) return;
    std::fill(stored_by_.begin() + static_cast<std::ptrdiff_t>(cells.begin),
              stored_by_.begin() + static_cast<std::ptrdiff_t>(cells.end), store);
  }
  // STOREs come in order.
  std::int32_t first_store() const { return first_store_; }
  std::int32_t last_store() const { return last_store_; }

  // Four bytes a cell, which only a program with a fault or with LOADs of unfinished ofmaps needs.
  bool knows_stores() const { return !stored_by_.empty(); }
  void know_stores() { stored_by_.assign(cells(), kNobody); }
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
  int cell_shift_;
  std::int64_t begin_;  // byte addresses of the tensor
  std::int64_t end_;
  BitSet is_stored_;
  std::vector<std::int32_t> stored_by_;
  std::int32_t first_store_ = kNobody;
  std::int32_t last_store_ = kNobody;
};

}  // namespace qsim::compiler::verifier
