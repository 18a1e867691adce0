#include "golden/graph/real/blocked_products.h"

namespace qsim::golden {
namespace {

// Rows of a block: of whole chunks 120 KB, of short ones more; and at most 65,536 sums.
constexpr std::int64_t kLongRows = 112;
constexpr std::int64_t kShortRows = 448;
constexpr std::int64_t kMostSums = 65536;
constexpr std::int64_t kPartsPerThread = 4;

}  // namespace

void BlockedProducts::add_band(const float* factors, int shift) {
  const std::int64_t depth = window_.kernel_h * window_.kernel_w * channels_;
  Band& band = bands_.emplace_back();
  band.shift = shift;
  for (std::int64_t g = 0; g < groups_; ++g) {
    band.groups.emplace_back(factors + g * outputs_ * depth, outputs_, depth, kernels_.lanes);
  }
}

WorkDivision BlockedProducts::divide_work(const ImageShape& shape, std::int64_t threads) const {
  const PackedProducts& packed = bands_[0].groups[0];
  const auto tile = static_cast<std::int64_t>(kernels_.tile_rows);
  const auto panels = static_cast<std::int64_t>(packed.panels());
  const auto width = static_cast<std::int64_t>(packed.channels_before(packed.panels()));
  const std::int64_t rows = packed.depth() >= size(kChunk) ? kLongRows : kShortRows;
  const std::int64_t most = std::clamp(kMostSums / width / tile * tile, tile, rows);
  WorkDivision d = {};
  d.pixels = shape.batch * shape.height * shape.width;
  d.block = round_up(ceil_div(d.pixels, ceil_div(d.pixels, most)), tile);
  d.blocks = ceil_div(d.pixels, d.block);
  const std::int64_t parts = d.blocks * groups_;
  const bool enough = threads == 1 || parts >= 2 * threads;
  d.ranges = enough ? 1 : std::min(panels, ceil_div(kPartsPerThread * threads, parts));
  return d;
}

SumBlock BlockedProducts::block_of(std::int64_t group, const WorkDivision& division,
                                   std::int64_t block, std::size_t first_panel,
                                   std::size_t last_panel) const {
  const PackedProducts& packed = bands_[0].groups[size(group)];
  const std::size_t first = packed.channels_before(first_panel);
  const std::int64_t pixel = block * division.block;
  SumBlock result = {};
  result.first_pixel = pixel;
  result.pixels = std::min(division.block, division.pixels - pixel);
  result.first_channel = group * outputs_ + static_cast<std::int64_t>(first);
  result.pitch = packed.channels_before(last_panel) - first;
  result.channels = std::min(result.pitch, packed.outputs() - first);
  return result;
}

void BlockedProducts::add_chunk(const Band& band, std::int64_t group, const SumBlock& block,
                                std::size_t k, const float* rows, std::size_t first_panel,
                                std::size_t last_panel, float* sums) const {
  const PackedProducts& packed = band.groups[size(group)];
  const std::size_t products = std::min(size(kChunk), packed.depth() - k);
  for (std::size_t panel = first_panel; panel < last_panel; ++panel) {
    const std::size_t vectors = packed.vectors(panel);
    kernels_.add_chunk(
        {rows, size(block.pixels), packed.weights(panel, k), products, sums, block.pitch}, vectors);
    sums += vectors * kernels_.lanes;
  }
}

void BlockedProducts::add_chunk(const Band& band, std::int64_t group, const SumBlock& block,
                                std::size_t k, const float* rows, std::size_t first_panel,
                                std::size_t last_panel, std::int64_t* sums) const {
  constexpr std::size_t kRows = 28;  // two of the largest tiles
  alignas(64) float chunk[kRows * kMostPanelWidth];
  const PackedProducts& packed = band.groups[size(group)];
  const std::size_t products = std::min(size(kChunk), packed.depth() - k);
  for (std::size_t panel = first_panel; panel < last_panel; ++panel) {
    const std::size_t vectors = packed.vectors(panel);
    const std::size_t width = vectors * kernels_.lanes;
    for (std::size_t row = 0; row < size(block.pixels); row += kRows) {
      const std::size_t count = std::min(kRows, size(block.pixels) - row);
      kernels_.store_chunk(
          {rows + row * kRowPitch, count, packed.weights(panel, k), products, chunk, width},
          vectors);
      for (std::size_t r = 0; r < count; ++r) {
        const float* from = chunk + r * width;
        std::int64_t* to = sums + (row + r) * block.pitch;
        for (std::size_t c = 0; c < width; ++c) {
          to[c] += static_cast<std::int64_t>(static_cast<std::int32_t>(from[c])) << band.shift;
        }
      }
    }
    sums += width;
  }
}

}  // namespace qsim::golden
