// Weights that are stored as INT4, become FP8 at run time, and enter an FP8 product; beside the
// fused layer, which reads the INT4 weights itself. README.md explains both.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include "core/base/random.h"
#include "golden/kernels/convert/conversion.h"
#include "golden/kernels/linear/reference_linear.h"

namespace qsim::golden {
namespace {

constexpr std::int64_t kRows = 4;         // of x: M
constexpr std::int64_t kChannels = 64;    // of y: N
constexpr std::int64_t kFeatures = 1024;  // K
constexpr std::int64_t kGroup = 128;
constexpr std::int64_t kGroups = kFeatures / kGroup;

// Seeded Gaussian numbers as FP16.
std::vector<std::uint16_t> gaussian(std::int64_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::uint16_t> codes;
  for (std::int64_t i = 0; i < count; ++i) {
    const double u = (static_cast<double>(random.next() >> 11) + 1) * 0x1p-53;
    const double v = static_cast<double>(random.next() >> 11) * 0x1p-53;
    const double number = std::sqrt(-2 * std::log(u)) * std::cos(2 * M_PI * v);
    codes.push_back(half_from_float(static_cast<float>(number)));
  }
  return codes;
}

QuantizedTensor quantized(const std::vector<std::uint16_t>& codes, std::int64_t rows,
                          const Quantization& how, ThreadTeam& team) {
  QuantizedTensor q;
  quantize({ElementFormat::kHalf, codes.data(), {rows, kFeatures}, {}}, how, team,
           VectorPath::kAuto, q);
  return q;
}

double number(std::uint8_t fp8) { return static_cast<double>(float_of(decode<kFp8E4m3>(fp8))); }

// The FP8 product of row m of x and channel n of w over features k..k + count - 1. FP8 numbers are
// multiples of 2^-9, so a double has each sum of up to 2^16 products exactly.
double fp8_sum(const QuantizedTensor& x, const std::vector<std::uint8_t>& w, std::int64_t m,
               std::int64_t n, std::int64_t k, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = k; i < k + count; ++i) {
    sum += number(x.values[static_cast<std::size_t>(m * kFeatures + i)]) *
           number(w[static_cast<std::size_t>(n * kFeatures + i)]);
  }
  return sum;
}

// With the numbers themselves as FP8: a sum for each group, times the group's scale, the groups in
// ascending order; without the token's scale of x.
float product_of_numbers(const QuantizedTensor& x, const std::vector<std::uint8_t>& w,
                         const std::vector<float>& scales, std::int64_t m, std::int64_t n) {
  float y = 0;
  for (std::int64_t g = 0; g < kGroups; ++g) {
    const auto sum = static_cast<float>(fp8_sum(x, w, m, n, g * kGroup, kGroup));
    y = std::fma(sum, scales[static_cast<std::size_t>(n * kGroups + g)], y);
  }
  return y;
}

// The INT4 weights as the fused layer stores them: 0..15 with the zero_point 8.
LinearWeights fused_weights(const QuantizedTensor& w) {
  LinearWeights weights;
  weights.out_features = kChannels;
  weights.in_features = kFeatures;
  weights.group_size = kGroup;
  weights.bits = 4;
  for (const std::uint8_t byte : w.values) {
    weights.values.push_back(static_cast<std::int8_t>(int4_unpack(byte, 0) + 8));
    weights.values.push_back(static_cast<std::int8_t>(int4_unpack(byte, 1) + 8));
  }
  weights.scales = w.scales;
  weights.zero_points.assign(w.scales.size(), 8);
  return weights;
}

// What the fused layer computes of rows of FP16 codes.
std::vector<float> fused(const std::vector<std::uint16_t>& x, const LinearWeights& weights) {
  FloatMatrix rows(FloatType::kFloat16, kRows, kFeatures);
  std::memcpy(rows.bytes.data(), x.data(), rows.bytes.size());
  const FloatMatrix y = reference_linear(rows, weights, {}, FloatType::kFloat32);
  std::vector<float> numbers;
  for (std::size_t i = 0; i < static_cast<std::size_t>(kRows * kChannels); ++i) {
    numbers.push_back(float_of(y.fp32_bits(i)));
  }
  return numbers;
}

// The root of the squared errors over the squares.
double nrmse(const std::vector<float>& y, const std::vector<double>& exact) {
  double errors = 0;
  double squares = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    errors += std::pow(static_cast<double>(y[i]) - exact[i], 2);
    squares += exact[i] * exact[i];
  }
  return std::sqrt(errors / squares);
}

int compare() {
  ThreadTeam team(1);
  const std::vector<std::uint16_t> x = gaussian(kRows * kFeatures, 1);
  const std::vector<std::uint16_t> weights = gaussian(kChannels * kFeatures, 2);

  // Offline: the weights to INT4.
  const QuantizedTensor w =
      quantized(weights, kChannels, {.format = ElementFormat::kInt4, .group = kGroup}, team);
  // At run time: the weights to FP8 in two ways, and x to FP8 with a scale a token.
  std::vector<std::uint8_t> numbers;
  std::vector<std::uint8_t> products;
  int4_to_fp8(w, ElementFormat::kE4m3, Int4ToFp8::kNumber, team, VectorPath::kAuto, numbers);
  int4_to_fp8(w, ElementFormat::kE4m3, Int4ToFp8::kProduct, team, VectorPath::kAuto, products);
  const QuantizedTensor tokens =
      quantized(x, kRows, {.format = ElementFormat::kE4m3, .group = kPerToken}, team);

  // The numbers of x's FP8 codes are FP16 numbers, so the fused layer takes them too.
  std::vector<std::uint16_t> token_numbers;
  for (const std::uint8_t code : tokens.values) {
    token_numbers.push_back(half_from_float(float_of(decode<kFp8E4m3>(code))));
  }
  const std::vector<float> fused_of_tokens = fused(token_numbers, fused_weights(w));
  const std::vector<float> fused_of_x = fused(x, fused_weights(w));

  std::vector<double> exact;
  std::vector<float> by_numbers, by_products;
  int different = 0;
  for (std::int64_t m = 0; m < kRows; ++m) {
    for (std::int64_t n = 0; n < kChannels; ++n) {
      double sum = 0;
      for (std::int64_t k = 0; k < kFeatures; ++k) {
        sum +=
            static_cast<double>(float_from_half(x[static_cast<std::size_t>(m * kFeatures + k)])) *
            static_cast<double>(
                float_from_half(weights[static_cast<std::size_t>(n * kFeatures + k)]));
      }
      exact.push_back(sum);
      const float scale = tokens.scales[static_cast<std::size_t>(m)];
      const float y = product_of_numbers(tokens, numbers, w.scales, m, n);
      different += y != fused_of_tokens[by_numbers.size()] ? 1 : 0;
      by_numbers.push_back(y * scale);
      const auto whole = static_cast<float>(fp8_sum(tokens, products, m, n, 0, kFeatures));
      by_products.push_back(whole * scale);
    }
  }
  std::printf("NRMSE against the layer of FP16 weights:\n");
  std::printf("  fused, FP16 x                              %5.2f%%\n",
              100 * nrmse(fused_of_x, exact));
  std::printf("  FP8 product, numbers and group scales      %5.2f%%\n",
              100 * nrmse(by_numbers, exact));
  std::printf("  FP8 product, numbers times group scales    %5.2f%%\n",
              100 * nrmse(by_products, exact));
  std::printf(
      "FP8 sums with group scales that differ from the fused layer on the same FP8 x: %d of %zu\n",
      different, by_numbers.size());
  return different == 0 ? 0 : 1;
}

}  // namespace
}  // namespace qsim::golden

int main() { return qsim::golden::compare(); }
