#include "cli/session/abc/activation_blocks.h"

#include <algorithm>

#include "core/base/random.h"

namespace qsim::cli {
namespace {

constexpr std::int64_t kBlocks = 64;
constexpr std::int64_t kBlockSize = 8;
constexpr std::int64_t kMostSamples = std::int64_t{1} << 20;
constexpr std::int64_t kNormalSamples = kBlocks * kBlockSize * kBlockSize * 64;

}  // namespace

std::vector<float> random_blocks(const AbcInput& input, std::uint64_t seed) {
  Random random(seed);
  const ImageShape& shape = input.shape;
  const std::int64_t height = std::min(kBlockSize, shape.height);
  const std::int64_t width = std::min(kBlockSize, shape.width);
  const std::int64_t row = width * shape.channels;
  const std::int64_t blocks = std::clamp(kMostSamples / (height * row), std::int64_t{1}, kBlocks);
  std::vector<float> samples;
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::int64_t n = random.uniform(0, shape.batch - 1);
    const std::int64_t y = random.uniform(0, shape.height - height);
    const std::int64_t x = random.uniform(0, shape.width - width);
    for (std::int64_t dy = 0; dy < height; ++dy) {
      const std::int64_t at = (((n * shape.height + y + dy) * shape.width) + x) * shape.channels;
      const auto from = input.values.begin() + at;
      samples.insert(samples.end(), from, from + row);
    }
  }
  return samples;
}

std::vector<float> normal_blocks(std::uint64_t seed) {
  Random random(seed);
  std::vector<float> samples(static_cast<std::size_t>(kNormalSamples));
  for (float& sample : samples) {
    std::int64_t sum = 0;
    for (int i = 0; i < 12; ++i) sum += random.uniform(-500'000, 500'000);
    sample = std::max(static_cast<float>(sum) / 1'000'000.0F, 0.0F);
  }
  return samples;
}

}  // namespace qsim::cli
