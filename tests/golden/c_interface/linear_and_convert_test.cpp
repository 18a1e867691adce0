// The C interface of linear layers, quantizers and group conversions gives the bits of golden's own
// functions, for tensors with any strides.
#include <cstring>

#include <gtest/gtest.h>

#include "golden/kernels/linear/quantizer.h"
#include "golden/kernels/linear/reference_linear.h"
#include "tests/golden/c_interface/arrays.h"
#include "tests/golden/convert/random_conversion.h"
#include "tests/golden/linear/random_linear.h"

namespace qsim::golden_test {
namespace {

using golden::FloatMatrix;
using golden::FloatType;
using golden::LinearWeights;

std::int32_t dtype_of_floats(FloatType type) {
  if (type == FloatType::kFloat32) return QSIM_FLOAT32;
  return type == FloatType::kFloat16 ? QSIM_FLOAT16 : QSIM_BFLOAT16;
}

template <typename T>
Array<T> array_of(const FloatMatrix& matrix) {
  Array<T> result(dtype_of_floats(matrix.type), {matrix.rows, matrix.columns});
  std::memcpy(result.values.data(), matrix.bytes.data(), matrix.bytes.size());
  return result;
}

// The weights' values two a byte; `flip` is 8 for signed ones.
Array<std::uint8_t> nibbles(const LinearWeights& weights, int flip) {
  const std::int64_t row_bytes = (weights.in_features + 1) / 2;
  Array<std::uint8_t> result(
      flip != 0 ? QSIM_INT4 : QSIM_UINT4, {weights.out_features, weights.in_features},
      std::vector<std::uint8_t>(static_cast<std::size_t>(weights.out_features * row_bytes)));
  for (std::int64_t i = 0; i < std::ssize(weights.values); ++i) {
    const std::int64_t k = i % weights.in_features;
    result.values[static_cast<std::size_t>(i / weights.in_features * row_bytes + k / 2)] |=
        static_cast<std::uint8_t>((weights.values[static_cast<std::size_t>(i)] ^ flip)
                                  << (k % 2 * 4));
  }
  return result;
}

// y as bytes, by the C interface, of tensors with gaps or without.
template <typename X, typename Y>
std::vector<Y> by_interface(const golden::LinearCase& layer, int flip, bool spread) {
  const LinearWeights& weights = layer.weights;
  Array<X> x = array_of<X>(layer.x);
  Array<std::int8_t> values(QSIM_INT8, {weights.out_features, weights.in_features}, weights.values);
  const Shape grouped = {weights.out_features, weights.groups()};
  Array<float> scales(QSIM_FLOAT32, grouped, weights.scales);
  Array<float> bias(QSIM_FLOAT32, {weights.out_features}, layer.bias);
  Array<std::uint8_t> zero_points(flip != 0 ? QSIM_INT8 : QSIM_UINT8, grouped, weights.zero_points);
  for (auto& point : zero_points.values) point = static_cast<std::uint8_t>(point - flip);
  Array<Y> y(dtype_of_floats(layer.y_type), {layer.x.rows, weights.out_features});
  const Array<std::uint8_t> half = nibbles(weights, flip);
  if (spread) {
    x = x.spread();
    values = values.spread();
    scales = scales.spread();
    y = y.spread();
    if (!layer.bias.empty()) bias = bias.spread();
    if (weights.bits == 4) zero_points = zero_points.spread();
  }
  const bool is_int8 = weights.bits == 8;
  const qsim_linear_weights given{is_int8 ? values.tensor() : half.tensor(), scales.tensor(),
                                  is_int8 ? nullptr : zero_points.tensor(), weights.group_size};
  const qsim_tensor* given_bias = layer.bias.empty() ? nullptr : bias.tensor();
  EXPECT_EQ(qsim_linear_w8(x.tensor(), &given, given_bias, y.tensor(), nullptr), QSIM_OK)
      << qsim_last_error();
  const std::vector<Y> once = y.elements();
  std::fill(y.values.begin(), y.values.end(), Y{});
  qsim_linear* prepared = nullptr;
  EXPECT_EQ(qsim_linear_create(&given, given_bias, nullptr, &prepared), QSIM_OK);
  EXPECT_EQ(qsim_linear_run(prepared, x.tensor(), y.tensor(), nullptr), QSIM_OK);
  qsim_linear_destroy(prepared);
  EXPECT_EQ(y.elements(), once);
  return once;
}

template <typename Y>
std::vector<Y> by_interface(const golden::LinearCase& layer, int flip, bool spread) {
  return layer.x.type == FloatType::kFloat32 ? by_interface<std::uint32_t, Y>(layer, flip, spread)
                                             : by_interface<std::uint16_t, Y>(layer, flip, spread);
}

template <typename Y>
void expect_bits(const FloatMatrix& expected, const std::vector<Y>& found) {
  ASSERT_EQ(expected.bytes.size(), found.size() * sizeof(Y));
  EXPECT_EQ(std::memcmp(expected.bytes.data(), found.data(), expected.bytes.size()), 0);
}

TEST(CInterface, LinearLayersHaveTheBitsOfTheReference) {
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const golden::LinearCase layer = golden::random_linear_case(random, 5, 150);
    const FloatMatrix expected =
        golden::reference_linear(layer.x, layer.weights, layer.bias, layer.y_type);
    for (const bool spread : {false, true}) {
      for (const int flip : {0, 8}) {
        if (layer.y_type == FloatType::kFloat32) {
          expect_bits(expected, by_interface<std::uint32_t>(layer, flip, spread));
        } else {
          expect_bits(expected, by_interface<std::uint16_t>(layer, flip, spread));
        }
      }
    }
  }
}

TEST(CInterface, QuantizersHaveTheValuesOfGolden) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const std::int64_t rows = random.uniform(1, 5);
    const std::int64_t columns = random.uniform(1, 150);
    const std::int64_t group =
        std::array{0, 32, 64, 128}[static_cast<std::size_t>(random.uniform(0, 3))];
    Array<float> w(QSIM_FLOAT32, {rows, columns});
    for (float& value : w.values) value = static_cast<float>(random.uniform(-1000, 1000)) / 333;
    const Array<float> spread = w.spread();
    const std::int64_t groups = group == 0 ? 1 : (columns + group - 1) / group;
    Array<std::int8_t> values(QSIM_INT8, {rows, columns});
    Array<float> scales(QSIM_FLOAT32, {rows, groups});
    ASSERT_EQ(qsim_quantize_per_channel(spread.tensor(), group, values.tensor(), scales.tensor(),
                                        nullptr),
              QSIM_OK)
        << qsim_last_error();
    const LinearWeights wide = golden::quantize_per_channel(w.values, rows, columns, group);
    EXPECT_EQ(values.values, wide.values);
    EXPECT_EQ(scales.values, wide.scales);
    for (const bool symmetric : {false, true}) {
      for (const int flip : {0, 8}) {
        const LinearWeights narrow =
            golden::quantize_to_int4(w.values, rows, columns, group, symmetric);
        Array<std::uint8_t> packed = nibbles(narrow, flip);
        const std::vector<std::uint8_t> expected = packed.values;
        std::fill(packed.values.begin(), packed.values.end(), std::uint8_t{0xA5});
        Array<std::uint8_t> points(flip != 0 ? QSIM_INT8 : QSIM_UINT8, {rows, groups});
        ASSERT_EQ(qsim_quantize_to_int4(spread.tensor(), group, packed.tensor(), scales.tensor(),
                                        symmetric ? nullptr : points.tensor(), nullptr),
                  QSIM_OK)
            << qsim_last_error();
        EXPECT_EQ(packed.values, expected);
        EXPECT_EQ(scales.values, narrow.scales);
        if (symmetric) continue;
        for (auto& point : points.values) point = static_cast<std::uint8_t>(point + flip);
        EXPECT_EQ(points.values, narrow.zero_points);
      }
    }
  }
}

std::int32_t dtype_of_format(golden::ElementFormat format) {
  constexpr std::int32_t kTypes[] = {QSIM_FLOAT16,  QSIM_BFLOAT16, QSIM_INT8,    QSIM_FP8_E4M3,
                                     QSIM_FP8_E5M2, QSIM_INT4,     QSIM_FP4_E2M1};
  return kTypes[static_cast<std::size_t>(format)];
}

qsim_quantization described(const golden::Quantization& how) {
  qsim_quantization result;
  EXPECT_EQ(qsim_quantization_default(&result), QSIM_OK);
  constexpr std::int32_t kScales[] = {QSIM_FLOAT32, QSIM_UE8M0, QSIM_FP8_E4M3};
  result.format = dtype_of_format(how.format);
  result.scale_format = kScales[static_cast<std::size_t>(how.scales)];
  result.scale_rounding = static_cast<std::int32_t>(how.scale_rounding);
  result.column_major = how.order == golden::ScaleOrder::kColumnMajor ? 1 : 0;
  result.group = how.group;
  result.zero_point = how.zero_point ? 1 : 0;
  result.stochastic = how.stochastic ? 1 : 0;
  result.seed = how.seed;
  result.clip_value = how.clip_value;
  result.clip_ppm = static_cast<std::int32_t>(how.clip_percentile);
  return result;
}

// The parts of a quantized tensor as the interface takes them.
struct Parts {
  qsim_quantization how;
  Array<std::uint8_t> values;
  Array<float> scales;
  Array<std::uint8_t> codes;
  Array<std::int8_t> points;
  Array<float> global{QSIM_FLOAT32, {}};
  qsim_quantized q{};

  Parts(const golden::Quantization& quantization, const Shape& shape)
      : how(described(quantization)),
        values(how.format, shape, {}),
        scales(QSIM_FLOAT32, {}, {}),
        codes(how.scale_format, {}, {}),
        points(QSIM_INT8, {}, {}) {
    std::int64_t rows = 0;
    std::int64_t groups = 0;
    std::int64_t bytes = 0;
    std::int64_t count = 0;
    EXPECT_EQ(qsim_quantized_sizes(&how, shape.data(), static_cast<std::int32_t>(shape.size()),
                                   &rows, &groups, &bytes, &count),
              QSIM_OK)
        << qsim_last_error();
    Shape grouped = how.column_major != 0 ? Shape{groups, rows} : Shape{rows, groups};
    if (how.group == QSIM_PER_TENSOR) grouped = {1};
    values.values.resize(static_cast<std::size_t>(bytes));
    scales.shape = codes.shape = points.shape = grouped;
    scales.values.resize(static_cast<std::size_t>(count));
    codes.values.resize(static_cast<std::size_t>(count));
    points.values.resize(static_cast<std::size_t>(count));
    q = {values.tensor(), how.scale_format == QSIM_FLOAT32 ? scales.tensor() : codes.tensor(),
         how.zero_point != 0 ? points.tensor() : nullptr,
         how.scale_format == QSIM_FP8_E4M3 ? global.tensor() : nullptr};
  }
};

TEST(CInterface, ConversionsHaveTheBitsOfTheReference) {
  for (const golden::ElementFormat format : golden::kElementFormats) {
    if (golden::is_source(format)) continue;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
      const golden::RandomConversion drawn = golden::random_conversion(seed, format);
      SCOPED_TRACE(drawn.text());
      const golden::QuantizedTensor expected = golden::quantize_reference(drawn.x, drawn.how);
      Parts parts(drawn.how, drawn.x.shape);
      const qsim_tensor x{const_cast<std::uint16_t*>(drawn.x.data),
                          dtype_of_format(drawn.x.format),
                          QSIM_CPU,
                          0,
                          static_cast<std::int32_t>(drawn.x.shape.size()),
                          drawn.x.shape.data(),
                          drawn.x.strides.empty() ? nullptr : drawn.x.strides.data()};
      ASSERT_EQ(qsim_quantize(&x, &parts.how, &parts.q, nullptr), QSIM_OK) << qsim_last_error();
      EXPECT_EQ(parts.values.values, expected.values);
      if (drawn.how.scales == golden::ScaleFormat::kFp32) {
        EXPECT_EQ(parts.scales.values, expected.scales);
      } else {
        EXPECT_EQ(parts.codes.values, expected.scale_codes);
      }
      if (drawn.how.zero_point) {
        EXPECT_EQ(parts.points.values, expected.zero_points);
      }
      if (parts.q.global_scale != nullptr) {
        EXPECT_EQ(parts.global.values[0], expected.global_scale);
      }
      for (const auto target : {golden::ElementFormat::kHalf, golden::ElementFormat::kBfloat16}) {
        Array<std::uint16_t> back = Array<std::uint16_t>(dtype_of_format(target), drawn.x.shape);
        if (seed % 2 == 0) back = back.spread();
        ASSERT_EQ(qsim_dequantize(&parts.q, &parts.how, back.tensor(), nullptr), QSIM_OK)
            << qsim_last_error();
        EXPECT_EQ(back.elements(), golden::dequantize_reference(expected, target));
      }
      if (format != golden::ElementFormat::kInt4) continue;
      Array<std::uint8_t> eight(QSIM_FP8_E4M3, drawn.x.shape);
      for (const int times_scale : {0, 1}) {
        ASSERT_EQ(qsim_int4_to_fp8(&parts.q, &parts.how, times_scale, eight.tensor(), nullptr),
                  QSIM_OK)
            << qsim_last_error();
        EXPECT_EQ(eight.values,
                  golden::int4_to_fp8_reference(
                      expected, golden::ElementFormat::kE4m3,
                      times_scale != 0 ? golden::Int4ToFp8::kProduct : golden::Int4ToFp8::kNumber));
      }
    }
  }
}

TEST(CInterface, PresetsAreThoseOfGolden) {
  for (const char* name : {"mxfp8", "mxfp8_e5m2", "mxfp4", "nvfp4"}) {
    qsim_quantization found;
    ASSERT_EQ(qsim_quantization_preset(name, &found), QSIM_OK);
    const qsim_quantization expected = described(golden::preset(name));
    EXPECT_EQ(found.struct_bytes, sizeof found);
    EXPECT_EQ(found.format, expected.format) << name;
    EXPECT_EQ(found.scale_format, expected.scale_format) << name;
    EXPECT_EQ(found.group, expected.group) << name;
  }
}

TEST(CInterface, AQueryOfTheWorkspaceComputesNothing) {
  Array<float> w(QSIM_FLOAT32, {1, 2}, {1, 2});
  Array<std::int8_t> values(QSIM_INT8, {1, 2});
  Array<float> scales(QSIM_FLOAT32, {1});
  std::size_t bytes = 77;
  qsim_run run = QSIM_RUN_INIT;
  run.workspace_query = &bytes;
  ASSERT_EQ(qsim_quantize_per_channel(w.tensor(), 0, values.tensor(), scales.tensor(), &run),
            QSIM_OK);
  EXPECT_EQ(bytes, 0u);
  EXPECT_EQ(values.values, (std::vector<std::int8_t>{0, 0}));
  ASSERT_EQ(qsim_quantize_per_channel(w.tensor(), 0, values.tensor(), scales.tensor(), nullptr),
            QSIM_OK);
  EXPECT_EQ(values.values, (std::vector<std::int8_t>{64, 127}));
}

}  // namespace
}  // namespace qsim::golden_test
