// Activations of binary convolution: each is +1 or -1, and a bit holds it. Not the weights, whose
// bits lie by output channel (binary_weights.h), though their words are the same.
// docs/reference/kernels.md has the definition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/network/graph.h"
#include "golden/common/float_environment.h"

namespace qsim::golden {

// Channel c is bit c % 64 of word c / 64, counted from the least significant; 1 is +1 and 0 is -1.
// Bits beyond the last channel are 0. A little-endian machine may read a word as two of 32 bits,
// with channel c in bit c % 32 of word c / 32.
inline constexpr std::int64_t kBitsPerWord = 64;
inline constexpr int kMostBases = 8;  // of weights and of activations

inline std::int64_t bit_words(std::int64_t channels) {
  return (channels + kBitsPerWord - 1) / kBitsPerWord;
}

// Throws Error where a size is below 1 or `bases` is not in 1..kMostBases; returns the words of
// such a BitTensor.
std::size_t require_bits(const ImageShape& shape, int bases);

// Bases A_1 .. A_N of a batch of pictures: [batch][height][width][bases][bit_words(channels)].
struct BitTensor {
  ImageShape shape;
  int bases = 1;
  std::vector<std::uint64_t> words;

  BitTensor() = default;
  // All -1. Throws Error as require_bits does.
  BitTensor(const ImageShape& image, int base_count);

  // The words of all bases of a pixel; base j begins at j * bit_words(channels).
  std::uint64_t* pixel(std::int64_t batch, std::int64_t y, std::int64_t x) {
    return words.data() + place(batch, y, x);
  }
  const std::uint64_t* pixel(std::int64_t batch, std::int64_t y, std::int64_t x) const {
    return words.data() + place(batch, y, x);
  }

  bool operator==(const BitTensor&) const = default;

 private:
  std::size_t place(std::int64_t batch, std::int64_t y, std::int64_t x) const {
    const std::int64_t index = (batch * shape.height + y) * shape.width + x;
    return static_cast<std::size_t>(index * bases * bit_words(shape.channels));
  }
};

// A_j = +1 where clip(x + v_j, 0, 1) > 0.5, with x + v_j rounded to float32 (Lin et al. 2017,
// equation 7). The clip changes no comparison with 0.5, so it is left out. NaN gives -1.
struct ThresholdQuantizer {
  std::span<const float> v;  // [bases]

  bool operator()(float x, std::size_t base) const { return x + v[base] > 0.5F; }
};

// A_1 = +1 where x >= 0, so of both zeros; NaN gives -1.
struct SignQuantizer {
  bool operator()(float x, std::size_t /*base*/) const { return x >= 0.0F; }
};

// Throws Error where `found` is not the number of elements of the shape.
void require_elements(const ImageShape& shape, std::size_t found);

// The loops of quantize_and_pack.
template <typename Quantizer>
[[gnu::noinline]] void pack_values(std::span<const float> x, const Quantizer& quantizer,
                                   BitTensor& bits) {
  const auto channels = static_cast<std::size_t>(bits.shape.channels);
  const auto words = static_cast<std::size_t>(bit_words(bits.shape.channels));
  const auto bases = static_cast<std::size_t>(bits.bases);
  for (std::size_t pixel = 0; pixel * channels < x.size(); ++pixel) {
    for (std::size_t j = 0; j < bases; ++j) {
      std::uint64_t* to = bits.words.data() + (pixel * bases + j) * words;
      for (std::size_t c = 0; c < channels; ++c) {
        const std::uint64_t bit = quantizer(x[pixel * channels + c], j) ? 1 : 0;
        to[c / kBitsPerWord] |= bit << (c % kBitsPerWord);
      }
    }
  }
}

// Bits of `x` [batch][height][width][channels], one a base, by `quantizer(value, base)`. Throws
// Error where BitTensor does or `x` has another number of elements.
template <typename Quantizer>
BitTensor quantize_and_pack(std::span<const float> x, const ImageShape& shape, int bases,
                            const Quantizer& quantizer) {
  BitTensor bits(shape, bases);
  require_elements(shape, x.size());
  const FloatEnvironment environment;
  pack_values(x, quantizer, bits);
  return bits;
}

// Base `base` as +1.0 and -1.0, [batch][height][width][channels].
std::vector<float> unpack(const BitTensor& bits, int base);

// sum over j of beta_j A_j, by fma from 0 in ascending order of j.
std::vector<float> dequantize(const BitTensor& bits, std::span<const float> beta);

}  // namespace qsim::golden
