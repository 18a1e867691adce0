// Activations as ArrayOperands has re-laid them, kept for the next EXECUTE that reads the same
// words in the same way: those of a tile's other column blocks do, and re-laying costs as much as
// half of the multiplications. Scratchpads own them and drop what is written over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/machine/isa/commands.h"

namespace qsim::sim {

// Uninitialised 64-byte aligned storage that only grows.
class LaneBuffer {
 public:
  std::uint32_t* reserve(std::size_t lanes);
  const std::uint32_t* data() const { return lines_[0].lanes; }
  std::size_t capacity() const { return capacity_ * kLineLanes; }  // lanes

 private:
  static constexpr std::size_t kLineLanes = 16;
  struct alignas(64) Line {
    std::uint32_t lanes[kLineLanes];
  };
  std::unique_ptr<Line[]> lines_;
  std::size_t capacity_ = 0;  // lines
};

struct LaidActivations {
  Execute reading;              // how they are read: reading_of()
  std::int64_t first_word = 0;  // the words that were read: [first_word, end_word)
  std::int64_t end_word = 0;
  LaneBuffer lanes;
  std::vector<std::size_t> fold_offsets;
  std::size_t step_pitch = 0;
  bool valid = false;
  std::uint64_t last_use = 0;
};

// The command without what says nothing of activations: weights, psums, dataflow, blocks.
Execute reading_of(const Execute& execute);

class LaidActivationsCache {
 public:
  // What was laid for such a reading, or null.
  LaidActivations* find(const Execute& reading);
  // One to lay them in; the caller that does so sets the words and `valid`. Others found before may
  // be gone.
  LaidActivations& begin(const Execute& reading);
  // Words [first, end) are about to be written.
  void drop(std::int64_t first, std::int64_t end);

 private:
  LaidActivations& unused();

  std::vector<LaidActivations> entries_;
  std::uint64_t uses_ = 0;
  std::size_t found_ = 0;  // the entry that was found last
};

}  // namespace qsim::sim
