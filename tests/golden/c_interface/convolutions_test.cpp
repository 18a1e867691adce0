// The C interface of binary and int8 convolutions gives the bits of golden's own functions, for
// tensors with any strides.
#include <cstring>

#include <gtest/gtest.h>

#include "golden/graph/cpu/graph_executor.h"
#include "tests/golden/binary/random_binary.h"
#include "tests/golden/c_interface/arrays.h"

namespace qsim::golden_test {
namespace {

qsim_window described(const Window& window) {
  return {window.stride_h,   window.stride_w,  window.pad_top,    window.pad_left,
          window.pad_bottom, window.pad_right, window.dilation_h, window.dilation_w};
}

std::vector<std::uint32_t> bits_of_floats(const std::vector<float>& values) {
  std::vector<std::uint32_t> bits(values.size());
  std::memcpy(bits.data(), values.data(), 4 * values.size());
  return bits;
}

struct BinaryArrays {
  Array<std::uint64_t> bits;
  Array<std::uint64_t> words;
  Array<float> alpha;
  Array<float> beta;
  Array<float> bias;
  Array<float> y;
  qsim_window window;

  explicit BinaryArrays(const golden::BitTensor& input, const golden::BinaryConv& conv)
      : bits(QSIM_BITS64,
             {input.shape.batch, input.shape.height, input.shape.width, input.bases,
              golden::bit_words(input.shape.channels)},
             input.words),
        words(QSIM_BITS64,
              {conv.weights.shape.out_channels, conv.weights.bases, conv.weights.shape.kernel_h,
               conv.weights.shape.kernel_w, golden::bit_words(conv.weights.shape.channels)},
              conv.weights.words),
        alpha(QSIM_FLOAT32, {conv.weights.bases, conv.weights.shape.out_channels},
              conv.weights.alpha),
        beta(QSIM_FLOAT32, {std::ssize(conv.beta)}, conv.beta),
        bias(QSIM_FLOAT32, {std::ssize(conv.bias)}, conv.bias),
        y(QSIM_FLOAT32, golden::output_shape(conv, input).nhwc()),
        window(described(conv.window)) {}

  qsim_binary_weights weights(std::int64_t channels) const {
    return {channels, words.tensor(), alpha.tensor(), beta.tensor(),
            bias.values.empty() ? nullptr : bias.tensor()};
  }
};

TEST(CInterface, BinaryConvolutionsHaveTheBitsOfTheReference) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const RandomLayer layer = random_layer(random);
    BinaryArrays arrays(layer.input, layer.conv);
    if (seed % 2 == 0) {
      arrays.bits = arrays.bits.spread();
      arrays.words = arrays.words.spread();
      arrays.alpha = arrays.alpha.spread();
      arrays.y = arrays.y.spread();
    }
    const qsim_binary_weights weights = arrays.weights(layer.input.shape.channels);
    ASSERT_EQ(qsim_binary_conv2d(arrays.bits.tensor(), &weights, &arrays.window, arrays.y.tensor(),
                                 nullptr),
              QSIM_OK)
        << qsim_last_error();
    EXPECT_EQ(bits_of_floats(arrays.y.elements()),
              bits_of_floats(golden::reference_conv(layer.conv, layer.input)));
  }
}

TEST(CInterface, FloatsArePackedAsGoldenPacksThem) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const RandomLayer layer = random_layer(random);
    const ImageShape& shape = layer.input.shape;
    const std::vector<float> x =
        random_reals(random, static_cast<std::size_t>(element_count(shape.nhwc())));
    const std::vector<float> v = random_reals(random, static_cast<std::size_t>(layer.input.bases));
    const golden::BitTensor expected =
        golden::quantize_and_pack(x, shape, layer.input.bases, golden::ThresholdQuantizer{v});
    const Array<float> pictures = Array<float>(QSIM_FLOAT32, shape.nhwc(), x).spread();
    const Array<float> thresholds(QSIM_FLOAT32, {std::ssize(v)}, v);
    BinaryArrays arrays(layer.input, layer.conv);
    ASSERT_EQ(qsim_pack_activations(pictures.tensor(), thresholds.tensor(), arrays.bits.tensor(),
                                    nullptr),
              QSIM_OK)
        << qsim_last_error();
    EXPECT_EQ(arrays.bits.values, expected.words);
    const qsim_binary_weights weights = arrays.weights(shape.channels);
    ASSERT_EQ(qsim_abc_conv2d(pictures.tensor(), thresholds.tensor(), &weights, &arrays.window,
                              arrays.y.tensor(), nullptr),
              QSIM_OK)
        << qsim_last_error();
    EXPECT_EQ(bits_of_floats(arrays.y.values),
              bits_of_floats(golden::reference_conv(layer.conv, expected)));
    Array<std::uint64_t> signs(QSIM_BITS64, {shape.batch, shape.height, shape.width, 1,
                                             golden::bit_words(shape.channels)});
    ASSERT_EQ(qsim_pack_activations(pictures.tensor(), nullptr, signs.tensor(), nullptr), QSIM_OK);
    EXPECT_EQ(signs.values, golden::quantize_and_pack(x, shape, 1, golden::SignQuantizer()).words);
  }
}

TEST(CInterface, WeightsAreBinarizedAsGoldenBinarizesThem) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const golden::WeightShape shape{random.uniform(1, 5), random.uniform(1, 3),
                                    random.uniform(1, 3), random.uniform(1, 130)};
    const int bases = static_cast<int>(random.uniform(1, 8));
    const bool per_channel = random.chance(0.5);
    const Shape sizes = {shape.out_channels, shape.kernel_h, shape.kernel_w, shape.channels};
    const std::vector<float> w =
        random_reals(random, static_cast<std::size_t>(element_count(sizes)));
    const std::vector<float> u = random_reals(random, static_cast<std::size_t>(bases));
    const Array<float> weights = Array<float>(QSIM_FLOAT32, sizes, w).spread();
    const Array<float> thresholds(QSIM_FLOAT32, {bases}, u);
    Array<std::uint64_t> words(QSIM_BITS64, {shape.out_channels, bases, shape.kernel_h,
                                             shape.kernel_w, golden::bit_words(shape.channels)});
    Array<float> alpha(QSIM_FLOAT32, {bases, shape.out_channels});
    for (const bool even : {true, false}) {
      const std::vector<double> given =
          even ? golden::even_u(bases) : std::vector<double>(u.begin(), u.end());
      const auto expected = golden::binarize(
          w, shape, given, per_channel ? golden::AlphaGroup::kChannel : golden::AlphaGroup::kLayer);
      ASSERT_EQ(qsim_binarize_weights(weights.tensor(), even ? nullptr : thresholds.tensor(),
                                      per_channel ? 1 : 0, words.tensor(), alpha.tensor(), nullptr),
                QSIM_OK)
          << qsim_last_error();
      EXPECT_EQ(words.values, expected.weights.words);
      EXPECT_EQ(bits_of_floats(alpha.values), bits_of_floats(expected.weights.alpha));
    }
  }
}

struct Int8Case {
  Graph graph;
  Array<std::uint8_t> x{QSIM_INT8, {}, {}};
  Array<std::int8_t> w{QSIM_INT8, {}, {}};
  Array<std::int32_t> bias{QSIM_INT32, {}, {}};
  Array<float> scales{QSIM_FLOAT32, {}, {}};
  Array<std::uint8_t> y{QSIM_INT8, {}, {}};
  qsim_requantization requantization{};
  qsim_window window{};
  std::int64_t groups = 1;
};

Int8Case random_int8_case(Random& random) {
  Int8Case drawn;
  drawn.groups = random.uniform(1, 3);
  const std::int64_t depth = random.uniform(1, 20);
  const std::int64_t out_channels = drawn.groups * random.uniform(1, 6);
  Window window;
  window.kernel_h = random.uniform(1, 3);
  window.kernel_w = random.uniform(1, 3);
  window.stride_h = random.uniform(1, 2);
  window.stride_w = random.uniform(1, 3);
  window.dilation_h = random.uniform(1, 2);
  window.pad_top = random.uniform(0, 1);
  window.pad_bottom = random.uniform(0, 1);
  window.pad_right = random.uniform(0, 2);
  const ImageShape in{random.uniform(1, 2), random.uniform(5, 9), random.uniform(5, 9),
                      depth * drawn.groups};
  const bool x_unsigned = random.chance(0.5);
  const bool y_unsigned = random.chance(0.5);
  drawn.x = {x_unsigned ? QSIM_UINT8 : QSIM_INT8, in.nhwc()};
  for (auto& byte : drawn.x.values) byte = static_cast<std::uint8_t>(random.next());
  drawn.w = {QSIM_INT8, {out_channels, window.kernel_h, window.kernel_w, depth}};
  for (auto& weight : drawn.w.values) weight = static_cast<std::int8_t>(random.next());
  drawn.bias = {QSIM_INT32, {out_channels}};
  for (auto& value : drawn.bias.values)
    value = static_cast<std::int32_t>(random.uniform(-5000, 5000));
  drawn.scales = {QSIM_FLOAT32, {random.chance(0.5) ? 1 : out_channels}};
  for (float& scale : drawn.scales.values)
    scale = static_cast<float>(random.uniform(1, 9999)) * 1e-6F;
  drawn.requantization = {nullptr,
                          static_cast<std::int32_t>(random.uniform(0, 3)),
                          x_unsigned ? 131 : -3,
                          y_unsigned ? 120 : 7,
                          y_unsigned ? 120 : -128,
                          y_unsigned ? 255 : 100};
  drawn.window = described(window);
  Conv2d conv{window,
              make_tensor<std::int8_t>(drawn.w.shape, drawn.w.values),
              make_tensor<std::int32_t>(drawn.bias.shape, drawn.bias.values),
              {},
              drawn.groups};
  conv.requantization.lo = drawn.requantization.lo;
  conv.requantization.hi = drawn.requantization.hi;
  for (const float scale : drawn.scales.values) {
    conv.requantization.requantizers.push_back(requantizer_of(
        *Scale::of(scale), static_cast<RequantizerRounding>(drawn.requantization.rounding)));
  }
  drawn.graph.input_value() = {
      in, x_unsigned ? DType::kUint8 : DType::kInt8, drawn.requantization.x_zero_point, {}};
  const ImageShape out{
      in.batch,
      window_count(in.height, window.extent_h(), window.stride_h, window.pad_top,
                   window.pad_bottom),
      window_count(in.width, window.extent_w(), window.stride_w, 0, window.pad_right),
      out_channels};
  append(drawn.graph, "conv", std::move(conv),
         {out, y_unsigned ? DType::kUint8 : DType::kInt8, drawn.requantization.y_zero_point, {}});
  drawn.y = {y_unsigned ? QSIM_UINT8 : QSIM_INT8, out.nhwc()};
  return drawn;
}

TEST(CInterface, Int8ConvolutionsHaveTheBytesOfThePlainLoops) {
  qsim_threads* threads = nullptr;
  ASSERT_EQ(qsim_threads_create(3, &threads), QSIM_OK);
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Int8Case drawn = random_int8_case(random);
    Tensor x(drawn.graph.input_value().dtype, drawn.x.shape);
    std::memcpy(x.bytes.data(), drawn.x.values.data(), x.bytes.size());
    const Tensor expected = golden::run_graph(drawn.graph, x, golden::Path::kPlain).back();
    if (seed % 2 == 0) {
      drawn.x = drawn.x.spread();
      drawn.w = drawn.w.spread();
      drawn.y = drawn.y.spread();
    }
    drawn.requantization.scales = drawn.scales.tensor();
    qsim_run run = QSIM_RUN_INIT;
    run.threads = seed % 3 == 0 ? threads : nullptr;
    ASSERT_EQ(
        qsim_conv2d_int8(drawn.x.tensor(), drawn.w.tensor(), drawn.bias.tensor(), &drawn.window,
                         drawn.groups, &drawn.requantization, drawn.y.tensor(), &run),
        QSIM_OK)
        << qsim_last_error();
    const std::vector<std::uint8_t> found = drawn.y.elements();
    ASSERT_EQ(found.size(), expected.bytes.size());
    EXPECT_EQ(std::memcmp(found.data(), expected.bytes.data(), found.size()), 0);
  }
  qsim_threads_destroy(threads);
}

}  // namespace
}  // namespace qsim::golden_test
