// Plans of binary convolutions on a GPU, without one: their tables, read in the order of the
// kernels, give the layer's y; and what they refuse.
#include <bit>
#include <cmath>
#include <cstring>
#include <set>

#include <gtest/gtest.h>

#include "golden/kernels/binary/cuda/binary_cuda.h"
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
          const std::uint64_t a = keeps_rows(plan_.tile)
                                      ? raster_word(batch, oy, ox, j, kw)
                                      : input_word(batch, oy, ox, j, kw, windows);
          both += std::popcount(a & weight_word(channel, i, kw));
          ones += std::popcount(a);
        }
        if (keeps_rows(plan_.tile)) ones = raster_ones(batch, oy, ox, j);
        if (has_signs(plan_.tile)) {
          const std::int64_t products = std::int64_t{number<std::int32_t>(args_.rows, oy)} *
                                        number<std::int32_t>(args_.columns, ox) *
                                        std::popcount(args_.raster.signs);
          s = std::fma(args_.beta[j] * 0x1p-23F, static_cast<float>(products - 2 * both), s);
          continue;
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

  // The word of a base of a place of the raster; 0 outside the pictures.
  std::uint64_t place_word(std::int64_t place, int base, std::int64_t word) const {
    const cuda::RasterArgs& raster = args_.raster;
    const std::int64_t line = place / raster.pitch.divisor();
    const std::int64_t batch = line / raster.picture_rows.divisor();
    const std::int64_t x = place % raster.pitch.divisor() - args_.pad_left;
    const std::int64_t y = line % raster.picture_rows.divisor() - args_.pad_top;
    const bool inside = y >= 0 && y < args_.height && x >= 0 && x < args_.width &&
                        batch < raster.batch && word < args_.base_bytes / 8;
    return inside ? input_.pixel(batch, y, x)[base * args_.base_bytes / 8 + word] : 0;
  }

  bool is_inside(std::int64_t place) const {
    const cuda::RasterArgs& raster = args_.raster;
    const std::int64_t line = place / raster.pitch.divisor();
    const std::int64_t x = place % raster.pitch.divisor() - args_.pad_left;
    const std::int64_t y = line % raster.picture_rows.divisor() - args_.pad_top;
    return y >= 0 && y < args_.height && x >= 0 && x < args_.width &&
           line / raster.picture_rows.divisor() < raster.batch;
  }

  // As a unit is copied: two words of a place, or with one word a place also that of another.
  std::uint64_t unit_word(std::int64_t place, int base, std::int64_t unit, int word) const {
    if (args_.raster.signs != 0 && word == 1) {
      return is_inside(place) ? ~place_word(place, base, 0) & args_.raster.signs : 0;
    }
    if (args_.raster.pair == 0) return place_word(place, base, 2 * unit + word);
    if (word == 0) return place_word(place, base, 0);
    const std::int64_t x = place % args_.raster.pitch.divisor() + args_.raster.pair;
    return x >= args_.raster.pitch.divisor() ? 0 : place_word(place + args_.raster.pair, base, 0);
  }

  std::int64_t first_place(std::int64_t batch, int oy, int ox) const {
    return (batch * args_.raster.picture_rows.divisor() + oy) * args_.raster.pitch.divisor() + ox;
  }

  std::uint64_t raster_word(std::int64_t batch, int oy, int ox, int base, int kw) const {
    const std::uint32_t at = args_.raster.step_at[kw / kStepWords];
    const std::int64_t half = kw % kStepWords / 2;
    const std::int64_t unit_place = (at & 0xFFFF) + half * (at >> 16);
    const std::int64_t unit = unit_place / args_.raster.buffer_pixels;
    EXPECT_LT(unit, args_.raster.units);
    const std::int64_t place = first_place(batch, oy, ox) + unit_place % args_.raster.buffer_pixels;
    return unit_word(place, base, unit, kw % 2);
  }

  std::int64_t raster_ones(std::int64_t batch, int oy, int ox, int base) const {
    const cuda::RasterArgs& raster = args_.raster;
    std::int64_t ones = 0;
    for (int tap = 0; tap < raster.kernel_h * raster.kernel_w; ++tap) {
      const std::int64_t place = first_place(batch, oy, ox) +
                                 tap / raster.kernel_w * raster.tap_row +
                                 tap % raster.kernel_w * raster.tap_column;
      for (int word = 0; word < args_.base_bytes / 8; ++word) {
        ones += std::popcount(place_word(place, base, word));
      }
    }
    return ones;
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
  for (std::uint64_t seed = 1; seed <= 220; ++seed) {
    Random random(seed);
    RandomLayer layer = golden_test::random_layer(random);
    golden::WeightShape shape = layer.conv.weights.shape;
    const int bases = static_cast<int>(random.uniform(1, random.chance(0.2) ? 8 : 3));
    if (random.chance(0.3)) shape.out_channels = random.uniform(60, 130);
    if (random.chance(0.6)) layer.conv.window.stride_h = layer.conv.window.stride_w = 1;
    layer.conv.weights = golden_test::random_weights(random, shape, bases);
    if (!layer.conv.bias.empty()) {
      layer.conv.bias =
          golden_test::random_reals(random, static_cast<std::size_t>(shape.out_channels));
    }
    for (const BinaryCudaPath path : {BinaryCudaPath::kHopper, BinaryCudaPath::kPortable}) {
      expect_equal(layer, path, met, seed);
    }
  }
  EXPECT_EQ(met.size(), 14U);
}

TEST(BinaryCudaPlan, ALongRasterIsTakenInSegmentsThatTwoBuffersHold) {
  Random random(1);
  BinaryConv conv;
  conv.window = {.kernel_h = 1, .kernel_w = 1};
  conv.weights = golden_test::random_weights(random, {4000, 1, 1, 256}, 1);
  conv.beta.assign(8, 1.0F);
  const BinaryCudaPlan plan =
      plan_binary_conv(conv, nullptr, {1, 60, 60, 256}, 8, BinaryCudaPath::kHopper);
  EXPECT_EQ(plan.tile, BinaryTile::kRowsWide);
  const cuda::RasterArgs& raster = plan.args.raster;
  EXPECT_EQ(raster.end, 3600U);
  EXPECT_EQ(raster.workers, 4);
  EXPECT_EQ(raster.range, 900U);
  EXPECT_EQ(raster.buffers, 2);
  EXPECT_GE(raster.segment_tiles, 2);
  EXPECT_LT(raster.segment_tiles * cuda::kTileRows, 900);
}

TEST(BinaryCudaPlan, BetasThatCannotBeScaledTakeNoSigns) {
  Random random(1);
  BinaryConv conv;
  conv.window = {.kernel_h = 3, .kernel_w = 3};
  conv.weights = golden_test::random_weights(random, {64, 3, 3, 64}, 3);
  const auto tile = [&](float beta) {
    conv.beta = {1.0F, beta};
    return plan_binary_conv(conv, nullptr, {1, 9, 9, 64}, 2, BinaryCudaPath::kHopper).tile;
  };
  EXPECT_EQ(tile(4e31F), BinaryTile::kSignsThree);
  EXPECT_EQ(tile(-4.1e31F), BinaryTile::kRowsThree);
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

TEST(BinaryCudaPlan, AddressesThatKernelsCannotReadAreRefused) {
  Random random(1);
  BinaryConv conv;
  conv.window = {.kernel_h = 1, .kernel_w = 1};
  conv.beta = {1.0F};
  const auto refusal = [&](std::int64_t channels, std::uintptr_t packed, std::uintptr_t bits,
                           std::uintptr_t output) {
    conv.weights = golden_test::random_weights(random, {1, 1, 1, channels}, 1);
    const BinaryCudaPlan plan =
        plan_binary_conv(conv, nullptr, {1, 1, 1, channels}, 1, BinaryCudaPath::kPortable);
    try {
      require_addresses(plan, reinterpret_cast<const void*>(packed),
                        reinterpret_cast<const void*>(bits), reinterpret_cast<void*>(output));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string what = "binary convolution on a GPU: ";
  EXPECT_EQ(refusal(128, 64, 64, 64), "");
  EXPECT_EQ(refusal(128, 72, 64, 64),
            what + "packed is not at a multiple of 16 bytes; copy it to memory that is");
  EXPECT_EQ(refusal(128, 64, 72, 64),
            what + "bits is not at a multiple of 16 bytes; copy it to memory that is");
  EXPECT_EQ(refusal(64, 64, 72, 68), "");
  EXPECT_EQ(refusal(64, 64, 68, 64),
            what + "bits is not at a multiple of 8 bytes; copy it to memory that is");
  EXPECT_EQ(refusal(64, 64, 64, 66),
            what + "the output is not at a multiple of 4 bytes; copy it to memory that is");
}

TEST(BinaryCudaPlan, MoreChannelsThanAKernelCountsAreRefused) {
  EXPECT_EQ(device_channels({1, 1, 1, 70}), 70);
  try {
    device_channels({1, 1, 1, std::int64_t{1} << 31});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "bits on a GPU: 2147483648 channels; at most 2147483647");
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
