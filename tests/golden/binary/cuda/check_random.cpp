#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <iostream>
#include <optional>

#include "golden/kernels/binary/optimised_conv.h"
#include "tests/golden/binary/cuda/check_commands.h"
#include "tests/golden/binary/cuda/device_layer.h"
#include "tests/golden/binary/random_binary.h"
#include "tests/golden/device/chosen_cases.h"

namespace qsim::golden_test {
namespace {

using golden::BinaryCudaPath;
using golden::BinaryCudaPlan;
using golden::BinaryStage;
using golden::BitTensor;

constexpr int kMostPrinted = 10;                // mismatches
constexpr std::int64_t kCasesToMeetAll = 2000;  // fewer need not meet every kernel
constexpr std::int64_t kCasesToALongOne = 200;
constexpr std::array kTileNames = {"portable",        "any_bases",   "one_base",   "one_by_one",
                                   "two_bases",       "three_bases", "rows_any",   "rows_wide",
                                   "rows_one_by_one", "rows_two",    "rows_three", "signs_any",
                                   "signs_two",       "signs_three"};

// More bases, channels and pixels than random_layer() has, which already has every window.
RandomLayer wide_layer(Random& random) {
  RandomLayer layer = random_layer(random);
  ImageShape shape = layer.input.shape;
  shape.batch = random.uniform(1, 3);
  shape.height += random.uniform(0, 12);
  shape.width += random.uniform(0, 12);
  shape.channels = random.chance(0.5) ? 64 * random.uniform(1, 8) : random.uniform(1, 520);
  const int bases = static_cast<int>(random.uniform(1, random.chance(0.2) ? 8 : 3));
  const int weight_bases = static_cast<int>(random.uniform(1, random.chance(0.3) ? 8 : 3));
  golden::WeightShape weights = layer.conv.weights.shape;
  weights.channels = shape.channels;
  weights.out_channels = random.chance(0.5) ? 64 * random.uniform(1, 4) : random.uniform(1, 300);
  const auto out_channels = static_cast<std::size_t>(weights.out_channels);
  layer.input = random_bits(random, shape, bases);
  layer.conv.weights = random_weights(random, weights, weight_bases);
  layer.conv.beta = random_reals(random, static_cast<std::size_t>(bases));
  if (!layer.conv.bias.empty()) layer.conv.bias = random_reals(random, out_channels);
  layer.stage.gain = random_reals(random, out_channels);
  for (float& gain : layer.stage.gain) gain /= 50;  // so that bits are of both kinds
  layer.stage.shift = random_reals(random, out_channels);
  layer.stage.v = random_reals(random, static_cast<std::size_t>(random.uniform(1, 8)));
  if (layer.stage.pool)
    layer.stage.pool = golden::BinaryPool{random.uniform(1, 3), random.uniform(1, 3)};
  return layer;
}

// Many places of a raster for few workers, since there are many channel blocks.
RandomLayer long_layer(Random& random) {
  RandomLayer layer;
  const std::int64_t kernel = random.uniform(1, 2);
  const ImageShape shape = {1, random.uniform(55, 60), random.uniform(55, 60),
                            random.uniform(193, 256)};
  const std::int64_t out_channels = random.uniform(3900, 4000);
  layer.input = random_bits(random, shape, 8);
  layer.conv.window = {.kernel_h = kernel, .kernel_w = kernel, .pad_top = 1};
  layer.conv.weights = random_weights(random, {out_channels, kernel, kernel, shape.channels}, 1);
  layer.conv.beta = random_reals(random, 8);
  const auto count = static_cast<std::size_t>(out_channels);
  layer.stage.gain = random_reals(random, count);
  for (float& gain : layer.stage.gain) gain /= 50;
  layer.stage.shift = random_reals(random, count);
  layer.stage.v = random_reals(random, 2);
  return layer;
}

class RandomCheck {
 public:
  RandomCheck(const BinaryRandomOptions& options, ChosenCases& chosen)
      : options_(options), chosen_(chosen) {}

  ExitCode run() {
    for (std::int64_t i = 0; i < options_.count; ++i) {
      seed_ = options_.seed + static_cast<std::uint64_t>(i);
      if (!chosen_.begin(std::to_string(seed_))) continue;
      Random random(seed_);
      const bool wide = !options_.small && random.chance(0.3);
      RandomLayer layer = wide ? wide_layer(random) : random_layer(random);
      if (random.chance(0.5)) {  // as most layers are
        layer.conv.window.stride_h = layer.conv.window.stride_w = 1;
        if (random.chance(0.5)) layer.stage.pool.reset();
      }
      if (!options_.small && i % kCasesToALongOne == 0) layer = long_layer(random);
      if (random.chance(0.02)) make_overflow(layer);
      check_layer(layer);
      check_packing(random);
      if ((i + 1) % 1000 == 0) std::cerr << i + 1 << " of " << options_.count << " cases\n";
    }
    return chosen_.end(end());
  }

 private:
  // Sums beyond float32, so that y has infinities and NaNs.
  static void make_overflow(RandomLayer& layer) {
    for (float& beta : layer.conv.beta) beta *= 1e38F;
  }

  void check_layer(RandomLayer& layer) {
    const ImageShape shape = golden::output_shape(layer.conv, layer.input);
    BinaryStage& stage = layer.stage;
    if (stage.pool && stage.pool->size > std::min(shape.height, shape.width)) stage.pool.reset();
    const golden::OptimisedBinaryConv cpu(layer.conv);
    const std::vector<float> y = cpu.run(layer.input);
    const BitTensor bits = cpu.run(layer.input, stage);
    for (const BinaryCudaPath path : {BinaryCudaPath::kAuto, BinaryCudaPath::kPortable}) {
      for (const BinaryStage* with :
           {static_cast<const BinaryStage*>(nullptr), &std::as_const(stage)}) {
        const BinaryCudaPlan plan =
            plan_binary_conv(layer.conv, with, layer.input.shape, layer.input.bases, path);
        ++met_[static_cast<std::size_t>(plan.tile)];
        tile_ = static_cast<std::size_t>(plan.tile);
        const std::string name = kTileNames[*tile_];
        for (const TablesFrom from : {TablesFrom::kHost, TablesFrom::kKernel}) {
          const std::vector<std::uint8_t> found = device_.run(plan, layer.input, from);
          const std::string what =
              name + (from == TablesFrom::kHost ? ", constant tables" : ", a kernel's tables");
          if (with == nullptr) {
            compare(y.data(), y.size() * sizeof(float), found, what + ", y");
          } else {
            compare(bits.words.data(), bits.words.size() * 8, found, what + ", words");
          }
        }
      }
    }
    tile_.reset();
    for (const std::uint64_t word : bits.words) ones_ += std::popcount(word);
    bits_ += element_count(bits.shape.nhwc()) * bits.bases;
  }

  void check_packing(Random& random) {
    const ImageShape shape = {random.uniform(1, 2), random.uniform(1, 5), random.uniform(1, 5),
                              random.uniform(1, 200)};
    std::vector<float> x =
        random_reals(random, static_cast<std::size_t>(element_count(shape.nhwc())));
    const float special[] = {NAN, -NAN, INFINITY, -INFINITY, 0.0F, -0.0F, 0.5F, 1e-40F};
    for (float& value : x) {
      if (random.chance(0.1)) value = special[random.uniform(0, 7)];
    }
    const std::vector<float> v =
        random_reals(random, static_cast<std::size_t>(random.uniform(1, 8)));
    const BitTensor bits = golden::pack_activations(x, shape, v);
    compare(bits.words.data(), bits.words.size() * 8, device_.pack(x, shape, v),
            "quantize and pack");
    const BitTensor signs =
        golden::quantize_and_pack(std::span<const float>(x), shape, 1, golden::SignQuantizer{});
    compare(signs.words.data(), signs.words.size() * 8, device_.pack_signs(x, shape), "pack signs");
    const int base = static_cast<int>(random.uniform(0, bits.bases - 1));
    const std::vector<float> values = golden::unpack(bits, base);
    compare(values.data(), values.size() * sizeof(float), device_.unpack(bits, base), "unpack");
  }

  void compare(const void* expected, std::size_t bytes, const std::vector<std::uint8_t>& found,
               const std::string& what) {
    std::size_t wrong = found.size() == bytes ? 0 : 1;
    for (std::size_t i = 0; wrong == 0 && i + 4 <= bytes; i += 4) {
      if (std::memcmp(static_cast<const std::uint8_t*>(expected) + i, found.data() + i, 4) != 0) {
        wrong = i / 4 + 1;
      }
    }
    words_ += bytes / 4;
    if (wrong == 0) return;
    ++mismatches_;
    if (tile_) ++wrong_[*tile_];
    if (mismatches_ <= kMostPrinted) {
      std::cout << "seed " << seed_ << ", " << what << ": differs from 32-bit word " << wrong - 1
                << " of " << bytes / 4 << " on\n";
    }
  }

  using CountByTile = std::array<std::int64_t, kTileNames.size()>;

  static void print(const char* what, const CountByTile& counts) {
    std::cout << what;
    for (std::size_t t = 0; t < counts.size(); ++t) {
      if (counts[t] > 0) std::cout << " " << kTileNames[t] << " " << counts[t];
    }
    std::cout << "\n";
  }

  ExitCode end() const {
    print("runs by family:", met_);
    if (mismatches_ > 0) print("mismatching runs by family:", wrong_);
    std::cout << words_ << " words and floats compared, seeds " << options_.seed << " to " << seed_
              << ", " << mismatches_ << " mismatching runs\n";
    if (mismatches_ > 0) return ExitCode::kMismatch;
    const bool constant = 8 * ones_ < bits_ || bits_ * 7 < 8 * ones_;
    if (words_ == 0 || constant)
      throw InternalError("the comparison proves nothing: constant bits");
    for (std::size_t t = 0; t < kTileNames.size(); ++t) {
      const bool there = t == 0 || (golden::has_wgmma() && !options_.small);
      if (chosen_.all() && options_.count >= kCasesToMeetAll && there && met_[t] == 0) {
        throw InternalError("no case met the kernel for " + std::string(kTileNames[t]));
      }
    }
    return ExitCode::kOk;
  }

  BinaryRandomOptions options_;
  ChosenCases& chosen_;
  DeviceLayer device_;
  std::uint64_t seed_ = 0;
  std::optional<std::size_t> tile_;  // whose run is compared, if one's is
  CountByTile met_{};
  CountByTile wrong_{};
  std::uint64_t words_ = 0;
  std::int64_t ones_ = 0;
  std::int64_t bits_ = 0;
  std::int64_t mismatches_ = 0;
};

}  // namespace

ExitCode check_binary_random(const BinaryRandomOptions& options, ChosenCases& chosen) {
  return RandomCheck(options, chosen).run();
}

}  // namespace qsim::golden_test
