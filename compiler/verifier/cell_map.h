// The words of one on-chip memory with the commands that wrote and read them last.
#pragma once

#include <cstdint>
#include <memory>

#include "core/bit_set.h"

namespace qsim::verifier {

inline constexpr std::uint32_t kNobody = static_cast<std::uint32_t>(-1);

// Words with one history. Earlier accesses need no record: commands are done in order, and whoever
// comes after the last ones comes after those.
struct Cell {
  std::int32_t end;
  std::uint32_t writer;  // command of the memory's writing unit
  std::uint32_t reader;  // last command of its reading unit since that write
  bool handed_back;      // other words of its turn have been written anew since
};

// One memory as adjoining cells, cut where accesses begin and end. A cell is kept at the number of
// its first word, so it is found without a search; only what is used of cells_ takes memory.
class CellMap {
 public:
  explicit CellMap(std::int64_t words)
      : begins_(static_cast<std::size_t>(words)),
        cells_(std::make_unique_for_overwrite<Cell[]>(begins_.size())) {
    begins_.set(0);
    cells_[0] = {static_cast<std::int32_t>(words), kNobody, kNobody, false};
  }

  // Calls visit(cell) for cells that cover exactly [begin, end).
  template <typename Visit>
  void for_each(std::int64_t begin, std::int64_t end, Visit visit) {
    cut(end);
    cut(begin);
    for (std::int64_t word = begin; word < end; word = at(word).end) visit(at(word));
  }

  // Whether any cell within [begin, end) has been read in the present turn: what an earlier turn
  // left there was read in that one.
  bool is_read(std::int64_t begin, std::int64_t end) {
    cut(end);
    cut(begin);
    for (std::int64_t word = begin; word < end; word = at(word).end) {
      if (at(word).reader != kNobody && !at(word).handed_back) return true;
    }
    return false;
  }

  // Makes [begin, end) one cell, written by `writer` and read by nobody.
  void write(std::int64_t begin, std::int64_t end, std::uint32_t writer) {
    cut(end);
    cut(begin);
    begins_.clear(static_cast<std::size_t>(begin) + 1, static_cast<std::size_t>(end));
    at(begin) = {static_cast<std::int32_t>(end), writer, kNobody, false};
  }

 private:
  Cell& at(std::int64_t word) { return cells_[static_cast<std::size_t>(word)]; }

  // Makes a cell begin at `word`, which may be the end of the last.
  void cut(std::int64_t word) {
    const auto begin = static_cast<std::size_t>(word);
    if (begin == begins_.size() || begins_[begin]) return;
    Cell& cell = cells_[begins_.last_set(begin)];
    cells_[begin] = cell;
    cell.end = static_cast<std::int32_t>(word);
    begins_.set(begin);
  }

  BitSet begins_;  // the words that a cell begins at
  std::unique_ptr<Cell[]> cells_;
};

}  // namespace qsim::verifier
