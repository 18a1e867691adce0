// A fixed number of bits, of which whole ranges are set, cleared, asked and counted 64 at a time.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace qsim {

// Positions are below size(); a range [begin, end) has begin <= end <= size().
class BitSet {
 public:
  explicit BitSet(std::size_t size) : size_(size), words_((size + 63) / 64) {}

  std::size_t size() const { return size_; }
  bool operator[](std::size_t at) const { return (words_[at / 64] >> at % 64 & 1) != 0; }

  void set(std::size_t at) { words_[at / 64] |= std::uint64_t{1} << at % 64; }
  void set(std::size_t begin, std::size_t end) {
    for_each_word(begin, end, [](std::uint64_t& word, std::uint64_t mask) { word |= mask; });
  }
  void clear(std::size_t begin, std::size_t end) {
    for_each_word(begin, end, [](std::uint64_t& word, std::uint64_t mask) { word &= ~mask; });
  }

  // Whether a bit of the range is set.
  bool any(std::size_t begin, std::size_t end) const { return next_set(begin, end) != end; }
  // The first set bit of the range; `end` when there is none.
  std::size_t next_set(std::size_t begin, std::size_t end) const { return next(begin, end, 0); }
  // The first bit of the range that is not set; `end` when there is none.
  std::size_t next_clear(std::size_t begin, std::size_t end) const {
    return next(begin, end, ~std::uint64_t{0});
  }
  // The last set bit at or before `at`, which must exist.
  std::size_t last_set(std::size_t at) const {
    std::size_t w = at / 64;
    std::uint64_t word = words_[w] << (63 - at % 64);
    if (word != 0) return at - static_cast<std::size_t>(std::countl_zero(word));
    do word = words_[--w];
    while (word == 0);
    return w * 64 + 63 - static_cast<std::size_t>(std::countl_zero(word));
  }
  // Set bits in all.
  std::size_t count() const {
    std::size_t bits = 0;
    for (const std::uint64_t word : words_) bits += static_cast<std::size_t>(std::popcount(word));
    return bits;
  }

 private:
  // Calls visit(word, mask of the range's bits in it).
  template <typename Visit>
  void for_each_word(std::size_t begin, std::size_t end, Visit visit) {
    while (begin < end) {
      const std::size_t bits = std::min(64 - begin % 64, end - begin);
      visit(words_[begin / 64], ~std::uint64_t{0} >> (64 - bits) << begin % 64);
      begin += bits;
    }
  }

  // The first bit of the range that is set once `flip` is applied.
  std::size_t next(std::size_t begin, std::size_t end, std::uint64_t flip) const {
    for (std::size_t at = begin; at < end; at += 64 - at % 64) {
      const std::uint64_t word = (words_[at / 64] ^ flip) >> at % 64;
      if (word == 0) continue;
      return std::min(end, at + static_cast<std::size_t>(std::countr_zero(word)));
    }
    return end;
  }

  std::size_t size_;
  std::vector<std::uint64_t> words_;
};

}  // namespace qsim
