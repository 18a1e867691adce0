// Plans of binary convolutions on a GPU, without one: their tables, read in the order of the
// kernels, give the layer's y; and what they refuse.
#include <bit>
#include <cmath>
#include <cstring>
#include <set>

#include <gtest/gtest.h>

#include "golden/binary/cuda/binary_cuda.h"
#include "tests/golden/binary/random_binary.h"

namespace qsim::golden {
namespace {

using cuda::BinaryTile;
using cuda::kStepBytes;
using cuda::kStepWords;
using golden_test::RandomLayer;

// A kernel's arithmetic on the host: where it reads each word, and the dots that come of them.
class PlanReader {
 public:
  PlanReader(const BinaryCudaPlan& plan, const BitTensor& input)
      : plan_(plan), args_(plan.args), shape_(shape_of(plan.tile)), input_(input) {}

  float y(std::int64_t batch, int oy, int ox, int channel) const {
    const int windows =
        number<std::int32_t>(args_.rows, oy) + number<std::int32_t>(args_.columns, ox);
    float y = block_number<float>(channel, args_.bias, 0);
    for (int i = 0; i < args_.weight_bases; ++i) {
      float s = 0;
      for (int j = 0; j < args_.input_bases; ++j) {
        std::int64_t both = 0;
        std::int64_t ones = 0;
        for (int kw = 0; kw < args_.steps * kStepWords; ++kw) {
          const std::uint64_t a = input_word(batch, oy, ox, j, kw, windows);
          both += std::popcount(a & weight_word(channel, i, kw));
          ones += std::popcount(a);
        }
        const int row = windows * args_.weight_bases + i;
        const auto number = block_number<std::int32_t>(channel, args_.inside, row);
        const std::int64_t inside =
            plan_.tile == BinaryTile::kPortable ? number : cuda::kBiasBits - number;
        s = std::fma(args_.beta[j], static_cast<float>(4 * both - 2 * ones - inside), s);
      }
      y = std::fma(block_number<float>(channel, args_.alpha, i), s, y);
    }
    return y;
  }

 private:
  template <typename T>
  T number(std::int64_t table, std::int64_t index) const {
    T value;
    std::memcpy(&value, plan_.packed.data() + table + index * static_cast<std::int64_t>(sizeof(T)),
                sizeof(T));
    return value;
  }

  std::int64_t block(int channel) const {
    return args_.common_bytes + channel / shape_.channels * args_.block_bytes;
  }

  // Lane q of four has channels / 4 channels in a row, and reads four at a time.
  template <typename T>
  T block_number(int channel, std::int64_t table, int row) const {
    const int run = shape_.channels / 4;
    const int q = channel % shape_.channels / run;
    const int r = channel % run;
    return number<T>(block(channel) + table, row * shape_.channels + r / 4 * 16 + 4 * q + r % 4);
  }

  std::uint64_t input_word(std::int64_t batch, int oy, int ox, int base, int kw,
                           int windows) const {
    const auto mask = number<std::uint32_t>(args_.masks, windows * args_.mask_words + kw / 32);
    if ((mask >> (kw % 32) & 1) == 0) return 0;
    const std::int64_t pixel =
        (batch * args_.height + oy * args_.stride_h - args_.pad_top) * args_.width +
        ox * args_.stride_w - args_.pad_left;
    const std::int64_t byte =
        pixel * args_.pixel_bytes + base * args_.base_bytes + number<std::int32_t>(0, kw);
    return input_.words.at(static_cast<std::size_t>(byte / 8));
  }

  std::uint64_t weight_word(int channel, int base, int kw) const {
    const int run = shape_.channels / 4;
    const int q = channel % shape_.channels / run;
    const int r = channel % run;
    const int column = base % shape_.chunk * shape_.channels + r / 2 * 8 + 2 * q + r % 2;
    const std::int64_t step =
        block(channel) + (std::int64_t{base / shape_.chunk} * args_.steps + kw / kStepWords) *
                             shape_.columns() * kStepBytes;
    const int k = kw % kStepWords;
    if (plan_.tile == BinaryTile::kPortable) return number<std::uint64_t>(step, column * 4 + k);
    return number<std::uint64_t>(step, (k / 2 * shape_.columns() + column) * 2 + k % 2);
  }

  const BinaryCudaPlan& plan_;
  const cuda::BinaryConvArgs& args_;
  cuda::BinaryTileShape shape_;
  const BitTensor& input_;
};

void expect_equal(const RandomLayer& layer, BinaryCudaPath path, std::set<BinaryTile>& met,
                  std::uint64_t seed) {
  const BinaryCudaPlan plan =
      plan_binary_conv(layer.conv, nullptr, layer.input.shape, layer.input.bases, path);
  met.insert(plan.tile);
  const std::vector<float> expected = reference_conv(layer.conv, layer.input);
  const PlanReader reader(plan, layer.input);
  std::size_t i = 0;
  for (std::int64_t b = 0; b < plan.output.batch; ++b) {
    for (int y = 0; y < plan.output.height; ++y) {
      for (int x = 0; x < plan.output.width; ++x) {
        for (int o = 0; o < plan.output.channels; ++o, ++i) {
          ASSERT_EQ(std::bit_cast<std::uint32_t>(reader.y(b, y, x, o)),
                    std::bit_cast<std::uint32_t>(expected[i]))
              << "seed " << seed << ", path " << binary_cuda_path_name(path) << ", pixel " << y
              << " " << x << ", channel " << o;
        }
      }
    }
  }
}

TEST(BinaryCudaPlan, ItsTablesReadInTheOrderOfTheKernelsGiveTheLayersYOnEveryKernel) {
  std::set<BinaryTile> met;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Random random(seed);
    RandomLayer layer = golden_test::random_layer(random);
    golden::WeightShape shape = layer.conv.weights.shape;
    const int bases = static_cast<int>(random.uniform(1, random.chance(0.2) ? 8 : 3));
    if (random.chance(0.3)) shape.out_channels = random.uniform(60, 200);
    layer.conv.weights = golden_test::random_weights(random, shape, bases);
    if (!layer.conv.bias.empty()) {
      layer.conv.bias =
          golden_test::random_reals(random, static_cast<std::size_t>(shape.out_channels));
    }
    for (const BinaryCudaPath path : {BinaryCudaPath::kHopper, BinaryCudaPath::kPortable}) {
      expect_equal(layer, path, met, seed);
    }
  }
  EXPECT_EQ(met.size(), 6U);
}

TEST(BinaryCudaPlan, HopperIsRefusedWhereTheWeightsDoNotFitAndAutoIsPortable) {
  Random random(1);
  BinaryConv conv;
  conv.window = {.kernel_h = 3, .kernel_w = 3};
  conv.weights = golden_test::random_weights(random, {64, 3, 3, 2048}, 3);
  conv.beta = {1.0F};
  const ImageShape input = {1, 3, 3, 2048};
  EXPECT_EQ(plan_binary_conv(conv, nullptr, input, 1, BinaryCudaPath::kAuto).path,
            BinaryCudaPath::kPortable);
  try {
    plan_binary_conv(conv, nullptr, input, 1, BinaryCudaPath::kHopper);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "binary convolution on a GPU: path hopper does not take this layer; take path "
                 "portable or auto");
  }
}

TEST(BinaryCudaPlan, MorePixelsThanAKernelCountsAreRefused) {
  Random random(1);
  BinaryConv conv;
  conv.window = {.kernel_h = 1, .kernel_w = 1};
  conv.weights = golden_test::random_weights(random, {1, 1, 1, 1}, 1);
  conv.beta = {1.0F};
  try {
    plan_binary_conv(conv, nullptr, {1 << 20, 64, 64, 1}, 1, BinaryCudaPath::kPortable);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "binary convolution on a GPU: the input has 4294967296 pixels, the output "
                 "4294967296, and an input picture 32768 bytes; at most 2147483584 of each, and "
                 "2147483647 bytes");
  }
}

TEST(BinaryCudaPlan, OutputBytesAreThoseOfFloatsOrOfWords) {
  Random random(1);
  BinaryConv conv;
  conv.window = {.kernel_h = 1, .kernel_w = 1};
  conv.weights = golden_test::random_weights(random, {65, 1, 1, 7}, 2);
  conv.beta = {1.0F};
  const ImageShape input = {2, 3, 5, 7};
  EXPECT_EQ(plan_binary_conv(conv, nullptr, input, 1, BinaryCudaPath::kPortable).output_bytes(),
            2 * 3 * 5 * 65 * 4);
  BinaryStage stage;
  stage.gain.assign(65, 1.0F);
  stage.shift.assign(65, 0.0F);
  stage.v = {0.0F, 0.5F, 0.25F};
  EXPECT_EQ(plan_binary_conv(conv, &stage, input, 1, BinaryCudaPath::kPortable).output_bytes(),
            2 * 3 * 5 * 3 * 2 * 8);
}

}  // namespace
}  // namespace qsim::golden
