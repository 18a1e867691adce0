// Numbers of a span at once: their range, and their levels. Loops that the compiler makes vectors
// of, with the bits of one number after the other.
#pragma once

#include <cstdint>
#include <limits>

#include "golden/kernels/train/train_calls.h"

namespace qsim::golden::train {

// The range of the finite numbers seen; empty at first.
struct FiniteRange {
  float least = std::numeric_limits<float>::infinity();
  float most = -std::numeric_limits<float>::infinity();

  bool is_empty() const { return least > most; }
  void include(const FiniteRange& other);
};

FiniteRange range_of_span(const float* values, std::int64_t count);

// What numbers with one scale are quantized by.
struct SpanScale {
  float scale = 1;
  std::int32_t zero_point = 0;
};

// Levels, and 1 or 0 in `passes`, a byte a number. residual: null, or theirs.
void levels_of_span(const float* values, std::int64_t count, const SpanScale& scale,
                    const Levels& levels, std::int8_t* q, std::uint8_t* passes,
                    std::int8_t* residual);

// The bits of `count` bytes of 0 and 1, which are followed by zeros up to a multiple of 8.
void pack_bits(const std::uint8_t* flags, std::int64_t count, std::uint8_t* bits);

}  // namespace qsim::golden::train
