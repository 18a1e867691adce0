// Convolutions and linear layers as products of matrices, chunk by chunk: the inputs of a block of
// output pixels are gathered for one chunk of products, and pass over all panels of weights while
// they lie in the second-level cache.
#include <algorithm>

#include "core/checked_math.h"
#include "golden/real/gather.h"
#include "golden/real/packed_products.h"
#include "golden/real/real_arithmetic.h"
#include "golden/real/real_layer.h"

namespace qsim::golden {
namespace {

// Rows of a block: of whole chunks 120 KB, of short ones more; and 256 KB of sums.
constexpr std::int64_t kLongRows = 112;
constexpr std::int64_t kShortRows = 448;
constexpr std::int64_t kMostSums = 65536;
constexpr std::int64_t kPartsPerThread = 4;

// What one group of channels reads and writes.
struct Group {
  std::int64_t first_input;
  std::int64_t first_output;
  PackedProducts packed;
};

// How a layer's work is cut: blocks of output pixels by ranges of panels, of each group.
struct Division {
  std::int64_t pixels;
  std::int64_t block;  // pixels
  std::int64_t blocks;
  std::int64_t ranges;  // of panels
};

class ProductsRunner : public RealLayerRunner {
 public:
  ProductsRunner(const Window& window, std::int64_t groups, const Tensor& weights,
                 const Tensor& bias, const ProductKernels& kernels)
      : window_(window), bias_(bias), kernels_(kernels) {
    const std::int64_t outputs = weights.shape[0] / groups;
    const std::int64_t depth = weights.elems() / weights.shape[0];
    channels_ = weights.shape.back();
    for (std::int64_t g = 0; g < groups; ++g) {
      groups_.push_back({g * channels_, g * outputs,
                         PackedProducts(weights.as<float>().data() + g * outputs * depth, outputs,
                                        depth, kernels.lanes)});
    }
  }

  void run(RealOperands operands, Tensor& output, ThreadTeam& team) const override {
    const Division division = divide_work(image_shape(output), team.threads());
    const std::int64_t parts = division.blocks * division.ranges;
    team.run(size(parts) * groups_.size(), [&](std::size_t part) {
      const auto p = static_cast<std::int64_t>(part) % parts;
      run_part(groups_[part / size(parts)], division, p / division.ranges, p % division.ranges,
               *operands[0], output);
    });
  }

 private:
  Division divide_work(const ImageShape& shape, std::int64_t threads) const {
    const PackedProducts& packed = groups_[0].packed;
    const auto tile = static_cast<std::int64_t>(kernels_.tile_rows);
    const auto panels = static_cast<std::int64_t>(packed.panels());
    const auto width = static_cast<std::int64_t>(packed.channels_before(packed.panels()));
    const std::int64_t rows = packed.depth() >= size(kChunk) ? kLongRows : kShortRows;
    const std::int64_t most = std::clamp(kMostSums / width / tile * tile, tile, rows);
    Division d = {};
    d.pixels = shape.batch * shape.height * shape.width;
    d.blocks = ceil_div(d.pixels, most);
    d.block = round_up(ceil_div(d.pixels, d.blocks), tile);
    d.blocks = ceil_div(d.pixels, d.block);
    const std::int64_t parts = d.blocks * std::ssize(groups_);
    const bool enough = threads == 1 || parts >= 2 * threads;
    d.ranges = enough ? 1 : std::min(panels, ceil_div(kPartsPerThread * threads, parts));
    return d;
  }

  void run_part(const Group& group, const Division& division, std::int64_t block,
                std::int64_t range, const Tensor& input, Tensor& output) const {
    const PackedProducts& packed = group.packed;
    const auto panels = static_cast<std::int64_t>(packed.panels());
    const std::size_t first_panel = size(panels * range / division.ranges);
    const std::size_t last_panel = size(panels * (range + 1) / division.ranges);
    const std::int64_t first = block * division.block;
    const std::int64_t count = std::min(division.block, division.pixels - first);
    const std::size_t first_channel = packed.channels_before(first_panel);
    const std::size_t pitch = packed.channels_before(last_panel) - first_channel;
    const std::size_t channels = std::min(pitch, packed.outputs() - first_channel);
    AlignedFloats rows(size(count) * kRowPitch);
    AlignedFloats sums(size(count) * pitch);
    const std::int64_t out_channel = group.first_output + static_cast<std::int64_t>(first_channel);
    start_sums(out_channel, channels, pitch, size(count), sums.data());
    const GroupView view = {input.as<float>().data(), image_shape(input), group.first_input,
                            channels_};
    for (std::size_t k = 0; k < packed.depth(); k += size(kChunk)) {
      const std::size_t products = std::min(size(kChunk), packed.depth() - k);
      gather_chunk(view, window_, image_shape(output), first, count, static_cast<std::int64_t>(k),
                   static_cast<std::int64_t>(k + products), rows.data());
      for (std::size_t panel = first_panel; panel < last_panel; ++panel) {
        float* to = sums.data() + packed.channels_before(panel) - first_channel;
        kernels_.add_chunk(
            {rows.data(), size(count), packed.weights(panel, k), products, to, pitch},
            packed.vectors(panel));
      }
    }
    finish(sums.data(), pitch, channels, count,
           output.as<float>().data() + first * output.shape[3] + out_channel, output.shape[3]);
  }

  void start_sums(std::int64_t out_channel, std::size_t channels, std::size_t pitch,
                  std::size_t count, float* sums) const {
    const float* bias = bias_.as<float>().data() + out_channel;
    for (std::size_t r = 0; r < count; ++r, sums += pitch) {
      std::fill(std::copy_n(bias, channels, sums), sums + pitch, 0.0F);
    }
  }

  static void finish(const float* sums, std::size_t pitch, std::size_t channels, std::int64_t count,
                     float* out, std::int64_t out_pitch) {
    for (std::int64_t r = 0; r < count; ++r, sums += pitch, out += out_pitch) {
      for (std::size_t c = 0; c < channels; ++c) out[c] = canonical(sums[c]);
    }
  }

  Window window_;
  const Tensor& bias_;
  const ProductKernels& kernels_;
  std::int64_t channels_;  // that an output channel reads
  std::vector<Group> groups_;
};

}  // namespace

RealRunner make_conv2d(const RealConv2d& conv, const ProductKernels& kernels) {
  return std::make_unique<ProductsRunner>(conv.window, conv.groups, conv.weights, conv.bias,
                                          kernels);
}

RealRunner make_linear(const RealLinear& linear, const ProductKernels& kernels) {
  return std::make_unique<ProductsRunner>(Window{}, 1, linear.weights, linear.bias, kernels);
}

}  // namespace qsim::golden
