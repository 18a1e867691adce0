// The vector kernels of the dyadic requantizer against core/numerics/requantizer.h, on random
// tiles, for every instruction set that this processor has.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "golden/graph/cpu/vector_kernels.h"
#include "tests/core/requantizer_oracle.h"

namespace qsim::golden {
namespace {

constexpr std::int32_t kMostPsum = 1 << 29;
constexpr std::uint8_t kUntouched = 0xA5;

class RequantizerKernels : public testing::TestWithParam<VectorPath> {
 protected:
  void SetUp() override {
    if (!is_available(GetParam())) {
      GTEST_SKIP() << "skipped: this processor has no " << vector_path_name(GetParam());
    }
  }
};

struct Tile {
  alignas(64) std::int32_t acc[kMostTileRows * kPanelChannels] = {};
  RequantizerPanel panel;
  OutputRange range{};
  int rows = 1;
  int channels = 1;
};

std::int32_t random_psum(Random& random, RequantizerRounding rounding) {
  const std::int32_t t = test::random_psum(random);
  if (is_tflite(rounding)) return t;
  if (random.chance(0.02)) return random.chance(0.5) ? kMostPsum : -kMostPsum;
  return t < -kMostPsum || t > kMostPsum ? t / 4 : t;
}

// With the scale of `other`, which takes t near a tie, or any scale.
Requantizer tflite_requantizer_of(Random& random, std::int64_t t, const Requantizer& other) {
  if (t == 0 || random.chance(0.3)) return test::random_tflite_requantizer(random, other.rounding);
  const double scale = std::ldexp(other.multiplier, -other.shift);
  const auto moved = static_cast<double>(random.uniform(-2, 2));
  return tflite_requantizer(scale * (1 + moved * 0x1.0p-31), other.rounding);
}

// Each channel's requantizer takes the psum of one of its rows near a tie.
void draw(Random& random, int tile_rows, Tile& tile) {
  tile.rows = static_cast<int>(random.uniform(1, tile_rows));
  tile.channels = static_cast<int>(random.uniform(1, kPanelChannels));
  const std::int32_t type_min = random.chance(0.5) ? 0 : -128;
  const auto level = [&](std::int32_t low) {
    return static_cast<std::int32_t>(random.uniform(low, type_min + 255));
  };
  tile.range.zero_point = level(type_min);
  tile.range.lo = random.chance(0.6) ? type_min : level(type_min);
  tile.range.hi = random.chance(0.6) ? type_min + 255 : level(tile.range.lo);
  const auto rounding =
      static_cast<RequantizerRounding>(random.uniform(0, kRequantizerRoundings - 1));
  for (std::int32_t& t : tile.acc) t = random_psum(random, rounding);
  for (int c = 0; c < kPanelChannels; ++c) {
    const std::int64_t t = tile.acc[random.uniform(0, tile.rows - 1) * kPanelChannels + c];
    Requantizer r =
        t != 0 && random.chance(0.8) ? test::near_tie(random, t) : test::random_requantizer(random);
    r.rounding = rounding;
    if (is_tflite(rounding)) r = tflite_requantizer_of(random, t, r);
    tile.panel.set(static_cast<std::size_t>(c), r);
    // Sums of the same size, so that more than one row is within the 8 bits.
    for (int row = 0; t != 0 && row < tile.rows; ++row) {
      if (random.chance(0.5)) continue;
      tile.acc[row * kPanelChannels + c] = static_cast<std::int32_t>(
          std::clamp<std::int64_t>(t * random.uniform(-8, 8) / 8, -kMostPsum, kMostPsum));
    }
  }
}

TEST_P(RequantizerKernels, EqualTheContractOnRandomTiles) {
  constexpr std::uint64_t kSeed = 41;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  const VectorKernels& kernels = vector_kernels(GetParam());
  std::int64_t within = 0;
  std::int64_t values = 0;
  for (int i = 0; i < 3000; ++i) {
    Tile tile;
    draw(random, kernels.tile_rows, tile);
    const auto stride = static_cast<std::size_t>(tile.channels) + 3;
    std::vector<std::uint8_t> out(static_cast<std::size_t>(tile.rows) * stride, kUntouched);
    kernels.requantize_scaled_tile(tile.acc, tile.rows, tile.panel, tile.range, tile.channels,
                                   out.data(), stride);
    for (int row = 0; row < tile.rows; ++row) {
      const std::uint8_t* found = out.data() + static_cast<std::size_t>(row) * stride;
      for (int c = 0; c < tile.channels; ++c) {
        const std::int32_t t = tile.acc[row * kPanelChannels + c];
        const Requantizer& r = tile.panel.requantizers[c];
        const std::int32_t expected =
            requantize(t, 0, r, tile.range.zero_point, tile.range.lo, tile.range.hi);
        ASSERT_EQ(found[c], static_cast<std::uint8_t>(expected))
            << "tile " << i << " row " << row << " channel " << c << ": " << test::text_of(t, r)
            << " zero_point " << tile.range.zero_point << " lo " << tile.range.lo << " hi "
            << tile.range.hi;
        within += expected > tile.range.lo && expected < tile.range.hi;
        ++values;
      }
      for (std::size_t c = static_cast<std::size_t>(tile.channels); c < stride; ++c) {
        ASSERT_EQ(found[c], kUntouched) << "tile " << i << " beyond channel " << tile.channels;
      }
    }
  }
  // Saturated levels would prove little.
  EXPECT_GT(within, values / 4);
}

// With the multiplier 2^23 the kernel beside it, today's shift, gives the same bytes.
TEST_P(RequantizerKernels, APowerOfTwoGivesTheBytesOfTheShift) {
  constexpr std::uint64_t kSeed = 42;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  const VectorKernels& kernels = vector_kernels(GetParam());
  for (int i = 0; i < 500; ++i) {
    Tile tile;
    do {
      draw(random, kernels.tile_rows, tile);
    } while (is_tflite(tile.panel.rounding));  // its psums may be larger than the others take
    RoundingPanel shifts{};
    for (int c = 0; c < kPanelChannels; ++c) {
      shifts.shift[c] = static_cast<std::int32_t>(random.uniform(1, 22));
      shifts.addend[c] = (1 << (shifts.shift[c] - 1)) - 1;
      shifts.even[c] = 1;
      tile.panel.set(static_cast<std::size_t>(c),
                     requantizer_of_shift(shifts.shift[c], RequantizerRounding::kHalfEven));
    }
    std::uint8_t shifted[kMostTileRows * kPanelChannels] = {};
    std::uint8_t scaled[kMostTileRows * kPanelChannels] = {};
    kernels.requantize_tile(tile.acc, tile.rows, shifts, tile.range, tile.channels, shifted,
                            kPanelChannels);
    kernels.requantize_scaled_tile(tile.acc, tile.rows, tile.panel, tile.range, tile.channels,
                                   scaled, kPanelChannels);
    ASSERT_EQ(std::memcmp(shifted, scaled, sizeof shifted), 0) << "tile " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Paths, RequantizerKernels, testing::ValuesIn(kVectorPaths),
                         [](const auto& path) {
                           return std::string(vector_path_name(path.param));
                         });

}  // namespace
}  // namespace qsim::golden
