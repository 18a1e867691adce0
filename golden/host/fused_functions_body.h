// The functions of fused_functions.h, included once for each kind of processor. QSIM_VECTOR says
// for which: std::fma is an instruction or a call, with the same result.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "golden/host/fused_functions.h"

namespace qsim::golden {
namespace {

#define QSIM_INLINE QSIM_VECTOR __attribute__((always_inline)) inline

// By Horner's rule, powers from the highest, each product fused with the sum.
template <std::size_t count>
QSIM_INLINE float horner(float x, const std::array<float, count>& factors) {
  float sum = factors[0];
  for (std::size_t i = 1; i < count; ++i) sum = std::fma(sum, x, factors[i]);
  return sum;
}

// 2^m of an m that is shifted to the bits of the exponent.
QSIM_INLINE float power_of_two(std::uint32_t shifted) {
  return std::bit_cast<float>(shifted + 0x3F800000U);
}

// x = m ln 2 + rest, and m shifted to the bits of an exponent.
struct Reduced {
  float rest;
  std::uint32_t shifted;
};
constexpr float kRounding = 0x1.8p23F;
constexpr float kLog2Reciprocal = 1.44269504088896341F;
constexpr float kLog2High = -6.93145752e-1F;
constexpr float kLog2Low = -1.42860677e-6F;
QSIM_INLINE Reduced reduced(float x) {
  const float biased = std::fma(x, kLog2Reciprocal, kRounding);
  const float m = biased - kRounding;
  return {std::fma(m, kLog2Low, std::fma(m, kLog2High, x)), std::bit_cast<std::uint32_t>(biased)
                                                                << 23};
}

constexpr std::array kExpFactors = {0x1.694000p-10F, 0x1.125edcp-7F, 0x1.555b5ap-5F,
                                    0x1.555450p-3F,  0x1.fffff6p-2F, 1.0F};

// onnxruntime/core/mlas/lib/compute.cpp, MlasComputeExpVector
QSIM_INLINE float exp_of(float x) {
  x = x < -103.9720840454F ? -103.9720840454F : x;
  x = x > 88.7762626647950F ? 88.7762626647950F : x;
  const auto [rest, shifted] = reduced(x);
  // Two factors, so that each is a normal number: m from -126 to 127 and what is left.
  const auto exponent = static_cast<std::int32_t>(shifted);
  const auto normal = static_cast<std::uint32_t>(std::max(
      std::min(exponent, std::int32_t{0x3F800000}), static_cast<std::int32_t>(0xC1000000)));
  const float overflow = power_of_two(shifted - normal);
  return std::fma(horner(rest, kExpFactors), rest * overflow, overflow) * power_of_two(normal);
}

// The same of numbers that are not above 0, MlasComputeSumExpVector.
QSIM_INLINE float exp_of_negative(float x) {
  x = x < -88.3762626647949F ? -88.3762626647949F : x;
  const auto [rest, shifted] = reduced(x);
  return std::fma(horner(rest, kExpFactors), rest, 1.0F) * power_of_two(shifted);
}

constexpr std::array kSmallErf = {-5.99104969e-4F, 4.99339588e-3F,  -2.67667342e-2F,
                                  1.12818025e-1F,  -3.76124859e-1F, 1.28379151e-1F};
constexpr std::array kBigErf = {1.72948930e-5F, -3.83208680e-4F, 3.88393435e-3F, -2.42545605e-2F,
                                1.06777847e-1F, 6.34846687e-1F,  1.28717512e-1F};
constexpr std::array kErfExp = {
    1.38319808e-3F, 8.37550033e-3F, 4.16689515e-2F, 1.66664466e-1F, 4.99999851e-1F, 1.0F, 1.0F};

// onnxruntime/core/mlas/lib/erf.cpp
QSIM_INLINE float erf_of(float x) {
  const float size = std::min(std::abs(x), 3.925F);
  if (size < 0.921875F) {
    return std::copysign(std::fma(horner(size * size, kSmallErf), size, size), x);
  }
  const float power = -std::fma(horner(size, kBigErf), size, size);
  const auto [rest, shifted] = reduced(power);
  return std::copysign(1.0F - horner(rest, kErfExp) * power_of_two(shifted), x);
}

constexpr std::array kTanhOdd = {
    -2.76076847742355e-16F, 2.00018790482477e-13F, -8.60467152213735e-11F, 5.12229709037114e-08F,
    1.48572235717979e-05F,  6.37261928875436e-04F, 4.89352455891786e-03F};
constexpr std::array kTanhEven = {1.19825839466702e-06F, 1.18534705686654e-04F,
                                  2.26843463243900e-03F, 4.89352518554385e-03F};

// onnxruntime/core/mlas/lib/tanh.cpp
QSIM_INLINE float tanh_of(float x) {
  x = x < -9.0F ? -9.0F : x;
  x = x > 9.0F ? 9.0F : x;
  const float square = x * x;
  return horner(square, kTanhOdd) * x / horner(square, kTanhEven);
}

constexpr std::array kLogisticOdd = {4.37031012579801e-11F, 1.15627324459942e-07F,
                                     6.08574864600143e-05F, 8.51377133304701e-03F,
                                     2.48287947061529e-01F};
constexpr std::array kLogisticEven = {6.10247389755681e-13F, 5.76102136993427e-09F,
                                      6.29106785017040e-06F, 1.70198817374094e-03F,
                                      1.16817656904453e-01F, 9.93151921023180e-01F};

// onnxruntime/core/mlas/lib/logistic.cpp
QSIM_INLINE float sigmoid_of(float x) {
  x = x < -18.0F ? -18.0F : x;
  x = x > 18.0F ? 18.0F : x;
  const float square = x * x;
  const float y = horner(square, kLogisticOdd) * x / horner(square, kLogisticEven) + 0.5F;
  return y < 0.0F ? 0.0F : (y > 1.0F ? 1.0F : y);
}

QSIM_VECTOR void apply_here(FusedFunction function, std::span<const float> x, std::span<float> y) {
  switch (function) {
    case FusedFunction::kExp:
      for (std::size_t i = 0; i < y.size(); ++i) y[i] = exp_of(x[i]);
      return;
    case FusedFunction::kErf:
      for (std::size_t i = 0; i < y.size(); ++i) y[i] = erf_of(x[i]);
      return;
    case FusedFunction::kTanh:
      for (std::size_t i = 0; i < y.size(); ++i) y[i] = tanh_of(x[i]);
      return;
    case FusedFunction::kSigmoid:
      for (std::size_t i = 0; i < y.size(); ++i) y[i] = sigmoid_of(x[i]);
      return;
  }
}

// Eight sums, added up at the end (onnxruntime/core/mlas/lib/x86_64/TransKernelFma3.S).
QSIM_VECTOR float exponentials_here(std::span<const float> x, float shift, std::span<float> y) {
  std::array<float, 8> s{};
  for (std::size_t i = 0; i < y.size(); ++i) {
    y[i] = exp_of_negative(x[i] + shift);
    s[i % 8] += y[i];
  }
  return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}

#undef QSIM_INLINE

}  // namespace
}  // namespace qsim::golden
