// Levels, scales and zero_points by hand.
#include "quantize/levels.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace qsim::quantize {
namespace {

constexpr float kLargest = std::numeric_limits<float>::max();
constexpr float kNormal = std::numeric_limits<float>::min();
const Levels kU8 = {.bits = 8, .is_unsigned = true, .reduced = false};
const Levels kS8 = {.bits = 8, .is_unsigned = false, .reduced = false};

Quantization quantized(float lo, float hi, const Levels& levels, Symmetry symmetry,
                       ScaleKind kind = ScaleKind::kFloat) {
  return quantization_of({lo, hi}, levels, symmetry, kind);
}

TEST(Levels, EveryWidthHasItsLevels) {
  for (int bits = 1; bits <= 8; ++bits) {
    const Levels plain{.bits = bits, .is_unsigned = true, .reduced = false};
    EXPECT_EQ(plain.lo(), 0);
    EXPECT_EQ(plain.hi(), (1 << bits) - 1);
    if (bits == 1) continue;
    const Levels reduced{.bits = bits, .is_unsigned = true, .reduced = true};
    EXPECT_EQ(reduced.hi(), (1 << bits) - 2);
    const Levels full_signed{.bits = bits, .is_unsigned = false, .reduced = false};
    EXPECT_EQ(full_signed.lo(), -(1 << (bits - 1)));
    EXPECT_EQ(full_signed.hi(), (1 << (bits - 1)) - 1);
    const Levels reduced_signed{.bits = bits, .is_unsigned = false, .reduced = true};
    EXPECT_EQ(reduced_signed.lo(), -reduced_signed.hi());
  }
  for (const bool reduced : {false, true}) {
    const Levels one{.bits = 1, .is_unsigned = false, .reduced = reduced};
    EXPECT_EQ(one.lo(), -1);
    EXPECT_EQ(one.hi(), 1);
  }
}

TEST(Levels, AffineScaleAndZeroPointAreThoseOfTheFormula) {
  const Quantization q = quantized(-1, 3, kU8, Symmetry::kAffine);
  EXPECT_EQ(q.scale, 4.0F / 255);
  EXPECT_EQ(q.zero_point, 64);  // 255 / 4 = 63.75
  EXPECT_EQ(quantized(-1, 3, kS8, Symmetry::kAffine).zero_point, -64);
  const Levels reduced{.bits = 8, .is_unsigned = true, .reduced = true};
  EXPECT_EQ(quantized(-1, 3, reduced, Symmetry::kAffine).scale, 4.0F / 254);
}

// 0 - lo / scale is 2.5 and 3.5: ties go to the even zero_point.
TEST(Levels, ZeroPointsRoundTiesToEven) {
  const Levels four{.bits = 4, .is_unsigned = true, .reduced = false};
  EXPECT_EQ(quantized(-2.5F, 12.5F, four, Symmetry::kAffine).zero_point, 2);
  EXPECT_EQ(quantized(-3.5F, 11.5F, four, Symmetry::kAffine).zero_point, 4);
}

TEST(Levels, TheRangeAlwaysHasZero) {
  EXPECT_EQ(quantized(2, 5, kU8, Symmetry::kAffine),
            (Quantization{.scale = 5.0F / 255, .zero_point = 0, .lo = 0, .hi = 255}));
  EXPECT_EQ(quantized(-5, -2, kU8, Symmetry::kAffine),
            (Quantization{.scale = 5.0F / 255, .zero_point = 255, .lo = 0, .hi = 255}));
  EXPECT_EQ(quantized(2, 5, kS8, Symmetry::kAffine).zero_point, -128);
}

TEST(Levels, OneValueIsALevel) {
  for (const Symmetry symmetry :
       {Symmetry::kAffine, Symmetry::kSymmetric, Symmetry::kSymmetricMax}) {
    for (const Levels& levels : {kU8, kS8}) {
      EXPECT_EQ(quantized(0, 0, levels, symmetry),
                (Quantization{.scale = 1, .zero_point = 0, .lo = levels.lo(), .hi = levels.hi()}));
      for (const float value : {5.0F, -3.0F}) {
        const Quantization q = quantized(value, value, levels, symmetry);
        const Range covered = {static_cast<float>(q.lo - q.zero_point) * q.scale,
                               static_cast<float>(q.hi - q.zero_point) * q.scale};
        EXPECT_LE(covered.lo, std::min(0.0F, value) + q.scale / 2);
        EXPECT_GE(covered.hi, std::max(0.0F, value) - q.scale / 2);
        if (symmetry == Symmetry::kAffine) {
          EXPECT_FLOAT_EQ(value > 0 ? covered.hi : covered.lo, value);
        }
      }
    }
  }
}

TEST(Levels, SymmetricScalesAreThoseOfTheFormulas) {
  EXPECT_EQ(quantized(-1, 3, kS8, Symmetry::kSymmetric).scale, 6.0F / 255);
  EXPECT_EQ(quantized(-1, 3, kS8, Symmetry::kSymmetricMax).scale, 3.0F / 127);
  EXPECT_EQ(quantized(-1, 3, kS8, Symmetry::kSymmetric).zero_point, 0);
  const Levels reduced{.bits = 8, .is_unsigned = false, .reduced = true};
  EXPECT_EQ(quantized(-3, 1, reduced, Symmetry::kSymmetric).scale, 3.0F / 127);
  EXPECT_EQ(quantized(-3, 1, reduced, Symmetry::kSymmetricMax).scale, 3.0F / 127);
}

TEST(Levels, UnsignedSymmetricLevelsAreAroundTheirMiddle) {
  const Quantization q = quantized(-1, 3, kU8, Symmetry::kSymmetric);
  EXPECT_EQ(q.zero_point, 128);
  EXPECT_EQ(q.scale, 6.0F / 255);
  EXPECT_EQ(quantized(-1, 3, kU8, Symmetry::kSymmetricMax).scale, 3.0F / 127);
  const Levels reduced{.bits = 8, .is_unsigned = true, .reduced = true};
  EXPECT_EQ(quantized(-1, 3, reduced, Symmetry::kSymmetric).zero_point, 127);
  EXPECT_EQ(quantized(-1, 3, reduced, Symmetry::kSymmetric).scale, 3.0F / 127);
  // Nothing is negative: every level is used.
  const Quantization positive = quantized(0, 3, kU8, Symmetry::kSymmetric);
  EXPECT_EQ(positive.zero_point, 0);
  EXPECT_EQ(positive.scale, 3.0F / 255);
  EXPECT_EQ(quantized(0, 3, kU8, Symmetry::kSymmetricMax), positive);
}

TEST(Levels, PowersOfTwoAreTheSmallestThatCover) {
  const auto scale = [](float lo, float hi, const Levels& levels, Symmetry symmetry) {
    return quantized(lo, hi, levels, symmetry, ScaleKind::kPowerOfTwo).scale;
  };
  EXPECT_EQ(scale(0, 255, kU8, Symmetry::kAffine), 1);
  EXPECT_EQ(scale(0, std::nextafter(255.0F, 256.0F), kU8, Symmetry::kAffine), 2);
  EXPECT_EQ(scale(0, 1, kU8, Symmetry::kAffine), 0x1p-7F);
  EXPECT_EQ(scale(-127, 127, kS8, Symmetry::kSymmetricMax), 1);
  EXPECT_EQ(scale(-127.5F, 127.5F, kS8, Symmetry::kSymmetric), 1);
  EXPECT_EQ(scale(-128, 127, kS8, Symmetry::kSymmetric), 2);
  EXPECT_EQ(quantized(-1, 3, kU8, Symmetry::kAffine, ScaleKind::kDyadic),
            quantized(-1, 3, kU8, Symmetry::kAffine, ScaleKind::kPowerOfTwo));
}

TEST(Levels, ScalesAreNormalAndFiniteAtTheEndsOfFloat32) {
  const Levels one{.bits = 1, .is_unsigned = true, .reduced = false};
  for (const ScaleKind kind : {ScaleKind::kFloat, ScaleKind::kPowerOfTwo}) {
    for (const Levels& levels : {kU8, kS8, one}) {
      for (const float end : {0x1p-149F, kNormal, kLargest}) {
        const float scale = quantized(-end, end, levels, Symmetry::kAffine, kind).scale;
        EXPECT_TRUE(std::isnormal(scale)) << end;
      }
    }
  }
  EXPECT_EQ(quantized(0, 0x1p-149F, kU8, Symmetry::kAffine).scale, kNormal);
  EXPECT_EQ(quantized(-kLargest, kLargest, kU8, Symmetry::kAffine).scale,
            static_cast<float>(2.0 * kLargest / 255));
}

TEST(Levels, DyadicScalesHaveEightBits) {
  EXPECT_EQ(dyadic_scale(1), 1);
  EXPECT_EQ(dyadic_scale(255), 255);
  EXPECT_EQ(dyadic_scale(257), 256);    // 256 and 258 have 8 bits: the tie is even
  EXPECT_EQ(dyadic_scale(511.5), 512);  // 8 bits of 512 after the carry
  EXPECT_EQ(dyadic_scale(1.0 / 3), 171.0F / 512);
  for (int i = 1; i < 2000; ++i) {
    const double scale = i * 0.000713;
    const float rounded = dyadic_scale(scale);
    int exponent = 0;
    const double multiplier = std::ldexp(std::frexp(rounded, &exponent), 8);
    EXPECT_EQ(multiplier, std::floor(multiplier));
    EXPECT_LE(std::fabs(rounded - scale), scale / 256);
  }
}

TEST(Levels, RangesAndLevelsThatAreNoneAreErrors) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_THROW(quantized(nan, 1, kU8, Symmetry::kAffine), Error);
  EXPECT_THROW(quantized(0, infinity, kU8, Symmetry::kAffine), Error);
  EXPECT_THROW(quantized(1, -1, kU8, Symmetry::kAffine), Error);
  EXPECT_THROW(quantized(0, 1, {.bits = 9}, Symmetry::kAffine), Error);
  EXPECT_THROW(quantized(0, 1, {.bits = 0}, Symmetry::kAffine), Error);
  const Levels none{.bits = 1, .is_unsigned = true, .reduced = true};
  EXPECT_THROW(quantized(0, 1, none, Symmetry::kAffine), Error);
}

}  // namespace
}  // namespace qsim::quantize
