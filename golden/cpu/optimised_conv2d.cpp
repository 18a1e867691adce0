// Convolution as an implicit GEMM: blocks of output pixels are gathered into rows, and each panel
// of 32 output channels passes over the block while both lie in the second-level cache.
#include <algorithm>

#include "core/checked_math.h"
#include "golden/cpu/im2col.h"
#include "golden/cpu/optimised_layers.h"
#include "golden/cpu/packed_weights.h"

namespace qsim::golden {
namespace {

// A quarter of a small second-level cache (1 MiB); the panel takes as much at VGG's deepest.
constexpr std::size_t kBlockBytes = 256 * 1024;
constexpr std::size_t kLineBytes = 64;

// Elements from row to row. Rows of a power-of-two pitch would all fall into the same cache sets:
// an odd number of lines spreads them.
template <typename Element>
std::size_t row_pitch(std::size_t quads) {
  const std::size_t lines = (quads * kQuad * sizeof(Element) + kLineBytes - 1) / kLineBytes;
  return (lines | 1) * kLineBytes / sizeof(Element);
}

class Conv2dExecutor : public LayerExecutor {
 public:
  Conv2dExecutor(const Conv2d& conv, const Value& input, const Value& output,
                 const VectorKernels& kernels)
      : conv_(conv),
        input_(input),
        output_(output),
        kernels_(kernels),
        packed_(pack_weights(conv, input, output)) {}

  void run(Operands inputs, Tensor& output) const override {
    const Tensor& input = *inputs[0];
    kernels_.row_format == RowFormat::kWords ? run_on<std::uint16_t>(input, output)
                                             : run_on<std::uint8_t>(input, output);
  }

 private:
  template <typename Element>
  void run_on(const Tensor& input, Tensor& output) const {
    const UnsignedActivations activations(input, input_);
    const PictureView picture{activations.data(), input_.shape,
                              static_cast<std::uint8_t>(unsigned_zero_point(input_))};
    auto* out = reinterpret_cast<std::uint8_t*>(output.bytes.data());
    const ImageShape& shape = output_.shape;
    const std::int64_t pixels = shape.batch * shape.height * shape.width;
    const std::size_t stride = row_pitch<Element>(packed_.quads);
    const std::int64_t block =
        std::min(block_pixels(stride * sizeof(Element)), round_up(pixels, kernels_.tile_rows));
    std::vector<Element> rows(static_cast<std::size_t>(block) * stride);
    for (std::int64_t first = 0; first < pixels; first += block) {
      const std::int64_t count = std::min(block, pixels - first);
      gather_rows(picture, conv_.window, shape, first, count, rows.data(), stride);
      multiply_block(rows.data(), stride, count, out + first * shape.channels);
    }
  }

  // A multiple of tile_rows, so that the last tile of a block may read whole tiles.
  std::int64_t block_pixels(std::size_t row_bytes) const {
    const auto tile_rows = static_cast<std::size_t>(kernels_.tile_rows);
    const std::size_t tiles = kBlockBytes / (tile_rows * row_bytes);
    return static_cast<std::int64_t>(std::max<std::size_t>(tiles, 1) * tile_rows);
  }

  // `out` is [count][channels], the ofmap at the block's first pixel.
  template <typename Element>
  void multiply_block(const Element* rows, std::size_t stride, std::int64_t count,
                      std::uint8_t* out) const {
    alignas(64) std::int32_t acc[kMostTileRows * kPanelChannels];
    const std::int64_t tile_rows = kernels_.tile_rows;
    for (std::size_t panel = 0; panel < packed_.panel_count(); ++panel) {
      for (std::int64_t row = 0; row < count; row += tile_rows) {
        const int row_count = static_cast<int>(std::min(tile_rows, count - row));
        const TileOperands operands{rows + static_cast<std::size_t>(row) * stride, stride,
                                    packed_.panel(panel), packed_.quads,
                                    packed_.initial[panel].values};
        kernels_.multiply_tile(operands, row_count, acc);
        finish_tile(acc, row_count, panel, out + row * packed_.channels);
      }
    }
  }

  // Requantizes one tile into the ofmap; `out` is at the tile's first pixel.
  void finish_tile(const std::int32_t* acc, int row_count, std::size_t panel,
                   std::uint8_t* out) const {
    const Requantization& rq = conv_.requantization;
    const std::int64_t first = static_cast<std::int64_t>(panel) * kPanelChannels;
    const auto channels =
        static_cast<int>(std::min<std::int64_t>(kPanelChannels, packed_.channels - first));
    if (packed_.narrow) {
      kernels_.requantize_tile(acc, row_count, packed_.rounding[panel],
                               {output_.zero_point, rq.lo, rq.hi}, channels, out + first,
                               static_cast<std::size_t>(packed_.channels));
      return;
    }
    const std::int32_t* bias = conv_.bias.as<std::int32_t>().data();
    for (int r = 0; r < row_count; ++r) {
      for (std::int64_t c = 0; c < channels; ++c) {
        out[r * packed_.channels + first + c] = static_cast<std::uint8_t>(
            requantize(acc[r * kPanelChannels + c], bias[first + c], rq.shift(first + c),
                       rq.rounding, output_.zero_point, rq.lo, rq.hi));
      }
    }
  }

  const Conv2d& conv_;
  const Value& input_;
  const Value& output_;
  const VectorKernels& kernels_;
  PackedWeights packed_;
};

}  // namespace

std::unique_ptr<LayerExecutor> make_conv2d(const Conv2d& conv, const Value& input,
                                           const Value& output, const VectorKernels& kernels) {
  return std::make_unique<Conv2dExecutor>(conv, input, output, kernels);
}

}  // namespace qsim::golden
