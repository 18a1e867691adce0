// Float weights as a sum of alpha_i B_i with B_i of +1 and -1 (Lin et al. 2017, section 3.1).
// Made once on the CPU, before any input; GPU and CPU then read the same bits and floats.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "golden/kernels/binary/bit_tensor.h"

namespace qsim::golden {

// Which weights have a mean, a standard deviation and alphas of their own.
enum class AlphaGroup : std::uint8_t { kLayer, kChannel };

struct WeightShape {
  std::int64_t out_channels = 1;
  std::int64_t kernel_h = 1;
  std::int64_t kernel_w = 1;
  std::int64_t channels = 1;

  std::int64_t taps() const { return kernel_h * kernel_w; }
  bool operator==(const WeightShape&) const = default;
};

// Throws Error where a size is below 1 or `found` is not the number of weights.
void require_weight_count(const WeightShape& shape, std::size_t found);

struct BinaryWeights {
  WeightShape shape;
  int bases = 1;
  // [out_channels][bases][kernel_h][kernel_w][bit_words(channels)], words as in BitTensor.
  std::vector<std::uint64_t> words;
  std::vector<float> alpha;  // [bases][out_channels]

  const std::uint64_t* tap(std::int64_t out_channel, int base, std::int64_t tap) const {
    const std::int64_t index = (out_channel * bases + base) * shape.taps() + tap;
    return words.data() + index * bit_words(shape.channels);
  }
};

struct BinarizedWeights {
  BinaryWeights weights;
  double squared_error = 0;      // sum over weights of (W - sum of alpha_i B_i)^2, alphas as stored
  double squared_deviation = 0;  // sum over weights of (W - mean of all weights)^2
};

// u_i of M bases: -1 + 2 (i - 1) / (M - 1), and 0 for one base.
std::vector<double> even_u(int bases);

// `w` is [out_channels][kernel_h][kernel_w][channels]; `u` has one number a base. In each group,
// in double and in the order of the weights: mean = (sum of W) / n, std = sqrt((sum of
// (W - mean)^2) / n), B_i = +1 where (W - mean) + u_i * std >= 0, and alpha = argmin |W - B
// alpha|^2, rounded to float32 once. A base that equals an earlier one or its negative has alpha 0;
// the others are linearly independent, so alpha is unique. Throws Error for a size below 1, another
// number of weights than the shape's, a number of bases not in 1..kMostBases, a u that is not
// finite, and a weight that is not.
BinarizedWeights binarize(std::span<const float> w, const WeightShape& shape,
                          std::span<const double> u, AlphaGroup group);

// sum over i of alpha_i B_i, by fma from 0 in ascending order of i; shape and layout of `w` above.
std::vector<float> dequantize(const BinaryWeights& weights);

}  // namespace qsim::golden
