// How far a quantized tensor is from the float one: sums that parts of a tensor, and threads, add
// to.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <span>

#include "quantize/levels.h"

namespace qsim::quantize {

// Sums over pairs of values, in double. A pair of which one is not finite is only counted.
struct TensorError {
  std::int64_t count = 0;
  std::int64_t not_finite = 0;
  double sum_real = 0;
  double sum_quantized = 0;
  double sum_real_squares = 0;
  double sum_quantized_squares = 0;
  double sum_products = 0;
  double sum_squared_errors = 0;
  double largest_error = 0;  // absolute
  // Where the quantization was given: values beyond what its levels cover by more than half a step,
  // and which levels are there (by level - lo), of `levels` that there are.
  std::int64_t clipped = 0;
  std::bitset<256> used;
  int levels = 0;
};

// Adds pairs of values; both spans have the same length.
void add_pairs(std::span<const float> real, std::span<const float> quantized, TensorError& error);

// The same of integers, which stand for (level - zero_point) * scale in float32; counts clipped
// values and levels too.
void add_levels(std::span<const float> real, std::span<const std::uint8_t> levels,
                const Quantization& quantization, TensorError& error);
void add_levels(std::span<const float> real, std::span<const std::int8_t> levels,
                const Quantization& quantization, TensorError& error);

// Adds the sums of another part of the tensor.
void merge(const TensorError& part, TensorError& whole);

// Of no values: 0.
double mean_squared_error(const TensorError& error);
// 10 log10(sum of real^2 / sum of (real - quantized)^2). Infinite without an error (also of a
// tensor of zeros); minus infinity where real is all 0 and the other is not.
double sqnr_db(const TensorError& error);
// sum of real * quantized / (norms' product). Of two tensors of zeros 1, of one 0.
double cosine_similarity(const TensorError& error);
// 1 - cosine_similarity(), not below 0.
double cosine_distance(const TensorError& error);
// Correlation of the two, each less its mean. Where one has one value alone: 1 if both do, else 0.
double pearson_correlation(const TensorError& error);
// Shares of the values, and of the levels; 0 where no quantization was given.
double share_clipped(const TensorError& error);
double share_of_levels_used(const TensorError& error);

}  // namespace qsim::quantize
