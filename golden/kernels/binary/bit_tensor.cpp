#include "golden/kernels/binary/bit_tensor.h"

#include <cmath>

#include "core/base/checked_math.h"

namespace qsim::golden {

std::size_t require_bits(const ImageShape& shape, int bases) {
  for (const std::int64_t size : shape.nhwc()) {
    if (size < 1) {
      throw_bad_input("binary activations have the shape " + shape_text(shape.nhwc()) +
                      " [batch, height, width, channels]; each must be at least 1");
    }
  }
  if (bases < 1 || bases > kMostBases) {
    throw_bad_input("binary activations have " + std::to_string(bases) + " bases; allowed: 1 to " +
                    std::to_string(kMostBases));
  }
  const std::int64_t pixels = checked_mul(checked_mul(shape.batch, shape.height), shape.width);
  return static_cast<std::size_t>(checked_mul(pixels, bases * bit_words(shape.channels)));
}

BitTensor::BitTensor(const ImageShape& image, int base_count)
    : shape(image), bases(base_count), words(require_bits(image, base_count)) {}

void require_elements(const ImageShape& shape, std::size_t found) {
  const auto wanted = static_cast<std::size_t>(element_count(shape.nhwc()));
  if (found == wanted) return;
  throw_bad_input("binary activations of the shape " + shape_text(shape.nhwc()) + " have " +
                  std::to_string(wanted) + " values; found " + std::to_string(found));
}

std::vector<float> unpack(const BitTensor& bits, int base) {
  QSIM_CHECK(base >= 0 && base < bits.bases, "no such base");
  const auto channels = static_cast<std::size_t>(bits.shape.channels);
  const auto words = static_cast<std::size_t>(bit_words(bits.shape.channels));
  std::vector<float> values(static_cast<std::size_t>(element_count(bits.shape.nhwc())));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t pixel = i / channels;
    const std::size_t c = i % channels;
    const std::size_t word =
        (pixel * static_cast<std::size_t>(bits.bases) + static_cast<std::size_t>(base)) * words +
        c / kBitsPerWord;
    values[i] = (bits.words[word] >> (c % kBitsPerWord) & 1) != 0 ? 1.0F : -1.0F;
  }
  return values;
}

std::vector<float> dequantize(const BitTensor& bits, std::span<const float> beta) {
  QSIM_CHECK(beta.size() == static_cast<std::size_t>(bits.bases), "one beta a base");
  std::vector<float> sum(static_cast<std::size_t>(element_count(bits.shape.nhwc())));
  for (int j = 0; j < bits.bases; ++j) {
    const std::vector<float> base = unpack(bits, j);
    for (std::size_t i = 0; i < sum.size(); ++i) {
      sum[i] = std::fma(beta[static_cast<std::size_t>(j)], base[i], sum[i]);
    }
  }
  return sum;
}

}  // namespace qsim::golden
