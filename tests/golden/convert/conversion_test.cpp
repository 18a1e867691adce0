// Group conversions by hand-made examples: presets, zero groups, NaN and infinities, tails,
// layouts, clipping, stochastic rounding, errors.
#include "golden/kernels/convert/conversion.h"

#include <cfenv>
#include <cmath>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <gtest/gtest.h>

#include "core/base/random.h"
#include "golden/common/float_environment.h"
#include "golden/kernels/convert/error_report.h"
#include "golden/kernels/convert/philox.h"

namespace qsim::golden {
namespace {

constexpr std::uint16_t kInfinity = 0x7C00;
constexpr std::uint16_t kNan = 0xFE01;

struct Halves {
  std::vector<std::uint16_t> codes;
  HalfTensor tensor;

  Halves(const std::vector<float>& numbers, Shape shape) {
    for (const float number : numbers) codes.push_back(half_from_float(number));
    tensor = {ElementFormat::kHalf, codes.data(), std::move(shape), {}};
  }
};

QuantizedTensor both_ways(const HalfTensor& x, const Quantization& how) {
  QuantizedTensor expected = quantize_reference(x, how);
  ThreadTeam team(2);
  QuantizedTensor found;
  quantize(x, how, team, VectorPath::kAuto, found);
  EXPECT_EQ(found.values, expected.values);
  EXPECT_EQ(found.scales, expected.scales);
  return expected;
}

// The numbers of a row that are not given are 0.
std::vector<float> row_of(std::vector<float> first, std::size_t count) {
  first.resize(count);
  return first;
}

Halves gaussian(std::int64_t rows, std::int64_t cols) {
  Random random(20251122);
  std::vector<float> numbers;
  for (std::int64_t i = 0; i < rows * cols; ++i) {
    const double u = (static_cast<double>(random.next() >> 11) + 1) * 0x1.0p-53;
    const double v = static_cast<double>(random.next() >> 11) * 0x1.0p-53;
    numbers.push_back(static_cast<float>(std::sqrt(-2 * std::log(u)) * std::cos(2 * M_PI * v)));
  }
  return {numbers, {rows, cols}};
}

std::string error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Conversion, Int8DividesByTheLargestMagnitudeOver127) {
  const Halves x(row_of({-2.54F, 1, 0.01F, 2}, 16), {1, 16});
  const QuantizedTensor q = both_ways(x.tensor, {.format = ElementFormat::kInt8, .group = 16});
  const float scale = float_from_half(half_from_float(2.54F)) / 127;
  EXPECT_EQ(q.scales, std::vector<float>{scale});
  EXPECT_EQ(q.values,
            (std::vector<std::uint8_t>{0x81, 50, 1, 100, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(Conversion, AZeroGroupHasScale1) {
  const Halves x(std::vector<float>(32, -0.0F), {1, 32});
  for (const ElementFormat format : {ElementFormat::kInt8, ElementFormat::kE4m3}) {
    EXPECT_EQ(both_ways(x.tensor, {.format = format, .group = 16}).scales,
              (std::vector<float>{1, 1}));
  }
  Quantization how = preset("mxfp8");
  EXPECT_EQ(both_ways(x.tensor, how).scale_codes, std::vector<std::uint8_t>{127});
  how = preset("nvfp4");
  const QuantizedTensor q = both_ways(x.tensor, how);
  EXPECT_EQ(q.scale_codes, (std::vector<std::uint8_t>{0x38, 0x38}));
  EXPECT_EQ(q.global_scale, 1);
  // The sign of a zero stays.
  EXPECT_EQ(q.values[0], 0x88);
}

TEST(Conversion, NanAndInfinitiesDoNotCountForTheScale) {
  Halves x(row_of({3.5F, -7}, 16), {1, 16});
  x.codes[2] = kInfinity;
  x.codes[3] = kInfinity | 0x8000;
  x.codes[4] = kNan;
  const auto codes = [&](ElementFormat format, bool zero_point = false) {
    const QuantizedTensor q =
        both_ways(x.tensor, {.format = format, .group = 16, .zero_point = zero_point});
    return std::vector<std::uint8_t>(q.values.begin(), q.values.begin() + 5);
  };
  EXPECT_EQ(codes(ElementFormat::kInt8), (std::vector<std::uint8_t>{64, 0x81, 127, 0x81, 0}));
  EXPECT_EQ(codes(ElementFormat::kE4m3), (std::vector<std::uint8_t>{0x76, 0xFE, 0x7E, 0xFE, 0x7F}));
  EXPECT_EQ(codes(ElementFormat::kE5m2), (std::vector<std::uint8_t>{0x77, 0xFB, 0x7B, 0xFB, 0x7F}));
  // 3.5 and -7 of steps of 0.7: 5 and -10 from the zero_point 2.
  EXPECT_EQ(codes(ElementFormat::kInt4, true)[0], 0x87);
  EXPECT_EQ(codes(ElementFormat::kInt4, true)[1], 0x87);
  EXPECT_EQ(codes(ElementFormat::kInt4, true)[2], 0x22);
  EXPECT_EQ(codes(ElementFormat::kE2m1)[2], 0x07);
}

TEST(Conversion, APresetIsThePublishedFormat) {
  // OCP MX 1.0: 2^(floor(log2 7) - 8) = 2^-6; 7 * 64 = 448.
  const Halves x(row_of({7, 3.5F}, 32), {32});
  const QuantizedTensor mxfp8 = both_ways(x.tensor, preset("mxfp8"));
  EXPECT_EQ(mxfp8.scale_codes, std::vector<std::uint8_t>{121});
  EXPECT_EQ(mxfp8.values[0], 0x7E);
  // 2^(2 - 2): 7 saturates to 6; 3.5 is a tie of 3 and 4.
  const QuantizedTensor mxfp4 = both_ways(x.tensor, preset("mxfp4"));
  EXPECT_EQ(mxfp4.scale_codes, std::vector<std::uint8_t>{127});
  EXPECT_EQ(mxfp4.values[0], 0x67);
  EXPECT_EQ(both_ways(x.tensor, preset("mxfp8_e5m2")).scale_codes, std::vector<std::uint8_t>{114});
  // NVFP4: global 7 / 2688; the first group has E4M3's 448, the second, which is zero, 1.
  const QuantizedTensor nvfp4 = both_ways(x.tensor, preset("nvfp4"));
  EXPECT_EQ(nvfp4.global_scale, 7.0F / 2688);
  EXPECT_EQ(nvfp4.scale_codes, (std::vector<std::uint8_t>{0x7E, 0x38}));
  EXPECT_EQ(nvfp4.values[0], 0x57);
}

TEST(Conversion, APowerOfTwoScaleRoundsAsNamed) {
  const Halves x(row_of({9}, 16), {16});  // 9 / 7 = 1.29; floor(log2 9) - 2 = 1
  Quantization how{.format = ElementFormat::kInt4, .group = 16, .scales = ScaleFormat::kUe8m0};
  for (const auto& [rounding, code] :
       {std::pair{PowerRounding::kFloor, 128}, std::pair{PowerRounding::kCeil, 128},
        std::pair{PowerRounding::kHalfUp, 127}}) {
    how.scale_rounding = rounding;
    EXPECT_EQ(both_ways(x.tensor, how).scale_codes[0], code);
  }
}

TEST(Conversion, ATailHasAScaleOfItsOwnAndOddRowsEndInAZeroNibble) {
  std::vector<float> numbers(2 * 19, 1);
  numbers[18] = 100;
  const Halves x(numbers, {2, 19});
  Quantization how{.format = ElementFormat::kInt4, .group = 16};
  const QuantizedTensor rows = both_ways(x.tensor, how);
  EXPECT_EQ(rows.values.size(), 20U);
  EXPECT_EQ(rows.values[9], 0x07);
  EXPECT_EQ(rows.values[19], 0x07);
  EXPECT_EQ(rows.scales, (std::vector<float>{1.0F / 7, 100.0F / 7, 1.0F / 7, 1.0F / 7}));
  how.order = ScaleOrder::kColumnMajor;
  EXPECT_EQ(both_ways(x.tensor, how).scales,
            (std::vector<float>{1.0F / 7, 1.0F / 7, 100.0F / 7, 1.0F / 7}));
}

TEST(Conversion, ClippingBoundsTheScaleAndSaturates) {
  std::vector<float> numbers(20, 1);
  numbers[7] = -50;
  numbers[8] = 2;
  const Halves x(numbers, {20});
  Quantization how{.format = ElementFormat::kInt8, .group = kPerToken, .clip_value = 4};
  QuantizedTensor q = both_ways(x.tensor, how);
  EXPECT_EQ(q.scales[0], 4.0F / 127);
  EXPECT_EQ(q.values[7], 0x81);
  how.clip_value = INFINITY;
  how.clip_percentile = 950000;  // rank 19 of 20
  EXPECT_EQ(both_ways(x.tensor, how).scales[0], 2.0F / 127);
  how.clip_percentile = 950001;
  EXPECT_EQ(both_ways(x.tensor, how).scales[0], 50.0F / 127);
}

TEST(Conversion, StochasticRoundingKeepsTheMeanAndDependsOnTheSeed) {
  std::vector<float> numbers(4096, 0.3F);
  numbers[0] = 127;
  const Halves x(numbers, {4096});
  Quantization how{.format = ElementFormat::kInt8, .group = kPerTensor, .stochastic = true};
  const QuantizedTensor q = both_ways(x.tensor, how);
  std::int64_t ones = 0;
  for (std::size_t i = 1; i < q.values.size(); ++i) ones += q.values[i];
  EXPECT_NEAR(static_cast<double>(ones) / 4095, 0.3, 0.03);
  how.seed = 1;
  EXPECT_NE(both_ways(x.tensor, how).values, q.values);
}

// The known answers of Random123 1.14 (kat_vectors, philox4x32 10).
TEST(Conversion, PhiloxHasItsKnownAnswers) {
  const PhiloxBlock zeros = philox_block({{0, 0, 0, 0}}, 0);
  EXPECT_EQ(zeros.words[0], 0x6627E8D5U);

  const PhiloxBlock ones = philox_block({{~0U, ~0U, ~0U, ~0U}}, ~std::uint64_t{0});
  EXPECT_EQ(ones.words[0], 0x408F276DU);
  EXPECT_EQ(random_word(0, 0), zeros.words[0]);
  EXPECT_EQ(random_word(0, 3), zeros.words[3]);
}

// All that a caller gets of a tensor: codes, scales, what they give back, and INT4 as FP8.
struct Everything {
  QuantizedTensor q;
  std::vector<std::uint16_t> halves, bfloats;
  std::vector<std::uint8_t> fp8;

  Everything(const HalfTensor& x, const Quantization& how, bool plain) {
    ThreadTeam team(2);
    if (plain) {
      q = quantize_reference(x, how);
      halves = dequantize_reference(q, ElementFormat::kHalf);
      bfloats = dequantize_reference(q, ElementFormat::kBfloat16);
      if (how.format == ElementFormat::kInt4) {
        fp8 = int4_to_fp8_reference(q, ElementFormat::kE4m3, Int4ToFp8::kProduct);
      }
      return;
    }
    quantize(x, how, team, VectorPath::kAuto, q);
    dequantize(q, ElementFormat::kHalf, team, VectorPath::kAuto, halves);
    dequantize(q, ElementFormat::kBfloat16, team, VectorPath::kAuto, bfloats);
    if (how.format == ElementFormat::kInt4) {
      int4_to_fp8(q, ElementFormat::kE4m3, Int4ToFp8::kProduct, team, VectorPath::kAuto, fp8);
    }
  }

  void expect_same(const Everything& other) const {
    EXPECT_EQ(q.values, other.q.values);
    EXPECT_EQ(q.scales, other.q.scales);
    EXPECT_EQ(q.scale_codes, other.q.scale_codes);
    EXPECT_EQ(halves, other.halves);
    EXPECT_EQ(bfloats, other.bfloats);
    EXPECT_EQ(fp8, other.fp8);
  }
};

// Each rounding mode, and where the processor has it flushing to zero. Groups of small BF16
// numbers have subnormal elements and products.
TEST(Conversion, TheCallersFloatingPointModeChangesNothing) {
  Random random(11);
  std::vector<std::uint16_t> codes(64 * 256);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    codes[i] = static_cast<std::uint16_t>(random.next() & (i < codes.size() / 2 ? 0x807F : 0xBFFF));
  }
  const HalfTensor x{ElementFormat::kBfloat16, codes.data(), {64, 256}, {}};
  for (const ElementFormat format : kElementFormats) {
    if (is_source(format)) continue;
    for (const ScaleFormat scales : {ScaleFormat::kFp32, ScaleFormat::kUe8m0}) {
      const Quantization how{.format = format, .group = 64, .scales = scales};
      const Everything expected(x, how, true);
      for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST}) {
        for (const bool plain : {true, false}) {
          std::fenv_t before;
          std::fegetenv(&before);
          ASSERT_EQ(std::fesetround(mode), 0);
#if defined(__x86_64__)
          _mm_setcsr(_mm_getcsr() | 0x8040U);  // flush to zero, denormals are zero
#endif
          const Everything found(x, how, plain);
          std::fesetenv(&before);
          found.expect_same(expected);
        }
      }
    }
  }
}

TEST(Conversion, GaussianNumbersHaveTheErrorsThatThePageStates) {
  const Halves x = gaussian(64, 4096);
  const auto errors = [&](ElementFormat format) {
    return error_report(x.tensor, quantize_reference(x.tensor, {.format = format, .group = 128}));
  };
  EXPECT_NEAR(errors(ElementFormat::kE4m3).mean_relative, 0.022, 0.001);
  EXPECT_NEAR(errors(ElementFormat::kInt4).nrmse, 0.117, 0.002);
}

TEST(Conversion, TheReportNamesTheWorstGroup) {
  std::vector<float> numbers(3 * 32, 1);
  numbers[48] = 0.3F;  // row 1, group 1: 0.3 of 1 is between two codes
  Halves x(numbers, {3, 32});
  const QuantizedTensor q =
      quantize_reference(x.tensor, {.format = ElementFormat::kInt4, .group = 16});
  const ErrorReport report = error_report(x.tensor, q);
  EXPECT_EQ(report.elems, 96);
  EXPECT_EQ(report.worst_row, 1);
  EXPECT_EQ(report.worst_group, 1);
  EXPECT_GT(report.worst_nrmse, report.nrmse);
  Halves other(numbers, {32, 3});
  EXPECT_EQ(error_of([&] { error_report(other.tensor, q); }),
            "convert: the tensor is [32, 3], the quantized one [3, 32]; give both one shape");
}

TEST(Conversion, BadInputIsRefusedByName) {
  const Halves x(std::vector<float>(16), {16});
  const auto refusal = [&](const Quantization& how) {
    return error_of([&] { quantize_reference(x.tensor, how); });
  };
  EXPECT_EQ(
      refusal({.format = ElementFormat::kHalf}),
      "convert: fp16 is no quantized format; allowed: int8, fp8_e4m3, fp8_e5m2, int4, fp4_e2m1");
  EXPECT_EQ(refusal({.group = 24}),
            "convert: groups of 24; allowed: multiples of 16 from 16 to 512, token and tensor");
  EXPECT_EQ(
      refusal({.zero_point = true}),
      "convert: a zero_point needs int8 or int4 and fp32 scales; leave it out, or change them");
  EXPECT_EQ(refusal({.clip_value = 0}), "convert: the clip value is not above 0; allowed: above 0");
  EXPECT_EQ(refusal({.clip_percentile = 0}),
            "convert: the clip percentile is 0 parts per million; allowed: 1 to 1000000");
  HalfTensor bad = x.tensor;
  bad.strides = {1, 1};
  EXPECT_EQ(error_of([&] { quantize_reference(bad, {}); }),
            "convert: strides of rank 2 for a tensor of rank 1; give as many, or none");
  bad = x.tensor;
  bad.format = ElementFormat::kInt8;
  EXPECT_EQ(error_of([&] { quantize_reference(bad, {}); }),
            "convert: int8 is no 16-bit format; allowed: fp16, bf16");
  EXPECT_EQ(element_format_of("fp8_e5m2"), ElementFormat::kE5m2);
  EXPECT_EQ(error_of([] { element_format_of("fp8"); }),
            "convert: format 'fp8'; allowed: fp16, bf16, int8, fp8_e4m3, fp8_e5m2, int4, fp4_e2m1");
  EXPECT_EQ(error_of([] { preset("mxfp6"); }),
            "convert: preset 'mxfp6'; allowed: mxfp8, mxfp8_e5m2, mxfp4, nvfp4");
}

TEST(Conversion, ABadQuantizedTensorIsRefusedByName) {
  const Halves x(std::vector<float>(16), {16});
  QuantizedTensor q = quantize_reference(x.tensor, {.format = ElementFormat::kInt4, .group = 16});
  EXPECT_EQ(error_of([&] { dequantize_reference(q, ElementFormat::kInt8); }),
            "convert: int8 is no target of a dequantization; allowed: fp16, bf16");
  EXPECT_EQ(error_of([&] { int4_to_fp8_reference(q, ElementFormat::kHalf, Int4ToFp8::kNumber); }),
            "convert: fp16 is no target of int4; allowed: fp8_e4m3, fp8_e5m2");
  q.scales.push_back(1);
  EXPECT_EQ(error_of([&] { dequantize_reference(q, ElementFormat::kHalf); }),
            "convert: its scales has 2 entries; its shape needs 1");
  q = quantize_reference(x.tensor,
                         {.format = ElementFormat::kInt4, .group = 16, .zero_point = true});
  EXPECT_EQ(
      error_of([&] { int4_to_fp8_reference(q, ElementFormat::kE5m2, Int4ToFp8::kNumber); }),
      "convert: fp8_e5m2 does not have each int4 minus a zero_point; allowed: fp8_e4m3, or the "
      "product with the scale");
  q = quantize_reference(x.tensor, {.format = ElementFormat::kInt8, .group = 16});
  EXPECT_EQ(error_of([&] { int4_to_fp8_reference(q, ElementFormat::kE4m3, Int4ToFp8::kNumber); }),
            "convert: int8 to FP8 is not defined; allowed: int4");
}

}  // namespace
}  // namespace qsim::golden
