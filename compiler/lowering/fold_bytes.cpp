#include "compiler/lowering/fold_bytes.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <utility>

namespace qsim::compiler {
namespace {

// The bytes at `from`, from + pitch, ... side by side.
template <typename Word>
Word gathered(const std::int8_t* from, std::int64_t pitch) {
  static_assert(std::endian::native == std::endian::little);
  Word word = 0;
#pragma GCC unroll 8
  for (unsigned i = 0; i < sizeof(Word); ++i) {
    word |= static_cast<Word>(static_cast<std::uint8_t>(from[i * pitch])) << (8 * i);
  }
  return word;
}

// A row of the fold is written in whole words. (A copy of `fold` cannot be what `to` writes.)
template <typename Word>
void pack_words(FoldWeights fold, std::int8_t* to) {
  constexpr auto kColumns = static_cast<std::int64_t>(sizeof(Word));
  for (std::int64_t c = 0; c < fold.columns; c += kColumns) {
    for (std::int64_t r = 0; r < fold.rows; ++r) {
      const Word word = gathered<Word>(fold.from + c * fold.pitch + fold.depth[r], fold.pitch);
      std::memcpy(to + r * fold.columns + c, &word, sizeof word);
    }
  }
}

// kSize x kSize bytes in vectors.
template <std::size_t kSize>
struct ByteSquare {
  using Vector __attribute__((vector_size(kSize))) = std::int8_t;
  Vector vectors[kSize];

  // Byte b of vector v and byte v of vector b change places. Each round puts the bytes of two
  // vectors that are half of the square apart beside each other.
  void transpose() { transpose(std::make_index_sequence<kSize>()); }
  template <std::size_t... kBytes>
  void transpose(std::index_sequence<kBytes...>) {
    constexpr std::size_t kHalf = kSize / 2;
    for (std::size_t round = 1; round < kSize; round *= 2) {
      Vector mixed[kSize];
      for (std::size_t v = 0; v < kHalf; ++v) {
        const Vector a = vectors[v];
        const Vector b = vectors[v + kHalf];
        mixed[2 * v] = __builtin_shufflevector(a, b, (kBytes / 2 + kBytes % 2 * kSize)...);
        mixed[2 * v + 1] =
            __builtin_shufflevector(a, b, (kHalf + kBytes / 2 + kBytes % 2 * kSize)...);
      }
      std::ranges::copy(mixed, vectors);
    }
  }
};

// kSize vectors of kSize bytes, `from_pitch` apart, transposed to as many, `to_pitch` apart.
template <std::size_t kSize>
void pack_square(const std::int8_t* from, std::int64_t from_pitch, std::int8_t* to,
                 std::int64_t to_pitch) {
  ByteSquare<kSize> square;
  for (auto& vector : square.vectors) {
    std::memcpy(&vector, from, kSize);
    from += from_pitch;
  }
  square.transpose();
  for (const auto& vector : square.vectors) {
    std::memcpy(to, &vector, kSize);
    to += to_pitch;
  }
}

// The weights of a column are neighbours. Rows and columns are multiples of kSize.
template <std::size_t kSize>
void pack_squares(FoldWeights fold, std::int8_t* to) {
  constexpr auto kStep = static_cast<std::int64_t>(kSize);
  const std::int8_t* from = fold.from + fold.depth[0];
  for (std::int64_t c = 0; c < fold.columns; c += kStep) {
    for (std::int64_t r = 0; r < fold.rows; r += kStep) {
      pack_square<kSize>(from + c * fold.pitch + r, fold.pitch, to + r * fold.columns + c,
                         fold.columns);
    }
  }
}

bool rows_are_neighbours(const FoldWeights& fold) {
  for (std::int64_t r = 1; r < fold.rows; ++r) {
    if (fold.depth[r] != fold.depth[0] + r) return false;
  }
  return true;
}

}  // namespace

void pack_fold(const FoldWeights& fold, std::int8_t* to) {
  const std::int64_t smaller = std::min(fold.rows, fold.columns);
  if (smaller >= 8 && rows_are_neighbours(fold)) {
    return smaller >= 16 ? pack_squares<16>(fold, to) : pack_squares<8>(fold, to);
  }
  if (fold.columns >= 8) return pack_words<std::uint64_t>(fold, to);
  pack_words<std::uint32_t>(fold, to);
}

void pack_neighbouring_planes(const FoldWeights& fold, std::int8_t* to) {
  for (std::int64_t c = 0; c < fold.columns; c += kPlanesAtOnce) {
    for (std::int64_t r = 0; r < fold.rows; ++r) {
      pack_square<kPlanesAtOnce>(fold.from + c * fold.pitch + fold.depth[r], fold.pitch,
                                 to + r * fold.columns + c, fold.rows * fold.columns);
    }
  }
}

}  // namespace qsim::compiler
