// Convolution as an implicit GEMM, one a group: blocks of output pixels are gathered into rows, and
// each panel of 32 output channels passes over the block while both lie in the second-level cache.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/base/checked_math.h"
#include "core/network/graph.h"
#include "golden/graph/cpu/optimised_layers.h"
#include "golden/graph/cpu/output_stage.h"

namespace qsim::golden {
namespace {

// Gathers what one output pixel reads into a contiguous row, in the order of the weights
// [kernel_h][kernel_w][Cin]. A few rows at a time: the whole im2col matrix never exists.

// Some channels of a picture: those of a group of a convolution, or all.
struct PictureView {
  const std::uint8_t* data;  // [N][H][W][C] unsigned activations
  ImageShape shape;
  std::uint8_t zero_point;  // fills positions outside the picture
  std::int64_t first_channel;
  std::int64_t channels;
};

// The kernel columns that fall inside the picture, [first, last); the same for every kernel row.
struct Columns {
  std::int64_t x;  // picture column of kernel column 0; may be negative
  std::int64_t first;
  std::int64_t last;
};

Columns columns_of(const Window& window, std::int64_t width, std::int64_t ox) {
  const std::int64_t x = ox * window.stride_w - window.pad_left;
  // The number of kernel columns before picture column `end`.
  const auto before = [&](std::int64_t end) {
    const std::int64_t distance = end - x;
    if (distance <= 0) return std::int64_t{0};
    const std::int64_t columns =
        window.dilation_w == 1 ? distance : (distance - 1) / window.dilation_w + 1;
    return std::min(columns, window.kernel_w);
  };
  const std::int64_t first = before(0);
  return {x, first, std::max(first, before(width))};
}

// One kernel row of one output pixel; y is its picture row.
template <typename Element>
void gather_kernel_row(const PictureView& picture, std::int64_t n, std::int64_t y,
                       const Columns& columns, const Window& window, Element* out) {
  const ImageShape& in = picture.shape;
  const bool outside = y < 0 || y >= in.height;
  const std::int64_t first = outside ? window.kernel_w : columns.first;
  const std::int64_t last = outside ? window.kernel_w : columns.last;
  const std::int64_t channels = picture.channels;
  const Element zero_point = picture.zero_point;
  if (first > 0) std::fill_n(out, first * channels, zero_point);
  if (last > first) {
    const std::int64_t x = columns.x + first * window.dilation_w;
    const std::uint8_t* from =
        picture.data + ((n * in.height + y) * in.width + x) * in.channels + picture.first_channel;
    if (window.dilation_w == 1 && channels == in.channels) {
      std::copy_n(from, (last - first) * channels, out + first * channels);
    } else {
      for (std::int64_t kx = first; kx < last; ++kx, from += window.dilation_w * in.channels) {
        std::copy_n(from, channels, out + kx * channels);
      }
    }
  }
  if (last < window.kernel_w) {
    std::fill_n(out + last * channels, (window.kernel_w - last) * channels, zero_point);
  }
}

// rows[r] becomes the row of output pixel first_pixel + r (counted over [N][out H][out W]), for
// r < count. Each row is kernel_h * kernel_w * picture.channels elements, `copies` times; rows lie
// row_stride elements apart. Element is std::uint8_t, or std::uint16_t for the same numbers as
// words (RowFormat).
template <typename Element>
void gather_rows(const PictureView& picture, const Window& window, const ImageShape& output,
                 std::int64_t first_pixel, std::int64_t count, std::size_t copies, Element* rows,
                 std::size_t row_stride) {
  const std::int64_t kernel_row_elems = window.kernel_w * picture.channels;
  std::int64_t ox = first_pixel % output.width;
  std::int64_t oy = first_pixel / output.width % output.height;
  std::int64_t n = first_pixel / output.width / output.height;
  for (std::int64_t r = 0; r < count; ++r, rows += row_stride) {
    const Columns columns = columns_of(window, picture.shape.width, ox);
    Element* out = rows;
    for (std::int64_t ky = 0; ky < window.kernel_h; ++ky, out += kernel_row_elems) {
      gather_kernel_row(picture, n, oy * window.stride_h + ky * window.dilation_h - window.pad_top,
                        columns, window, out);
    }
    for (std::size_t copy = 1; copy < copies; ++copy) {
      out = std::copy_n(rows, window.kernel_h * kernel_row_elems, out);
    }
    if (++ox < output.width) continue;
    ox = 0;
    if (++oy < output.height) continue;
    oy = 0;
    ++n;
  }
}

// A quarter of a small second-level cache (1 MiB); the panel takes as much at VGG's deepest.
constexpr std::size_t kBlockBytes = 256 * 1024;
constexpr std::size_t kLineBytes = 64;

constexpr std::int64_t kMostChannelsInPlace = 256;

// Elements from row to row. Rows of a power-of-two pitch would all fall into the same cache sets:
// an odd number of lines spreads them.
template <typename Element>
std::size_t row_pitch(std::size_t quads) {
  const std::size_t lines = (quads * kQuad * sizeof(Element) + kLineBytes - 1) / kLineBytes;
  return (lines | 1) * kLineBytes / sizeof(Element);
}

// One group: the channels that it reads and writes, and its weights.
struct Group {
  std::int64_t first_input;
  std::int64_t first_output;
  PackedWeights packed;
  OutputStage stage;
};

class Conv2dExecutor : public LayerExecutor {
 public:
  Conv2dExecutor(const Conv2d& conv, const Value& input, const Value& output,
                 const VectorKernels& kernels)
      : conv_(conv), input_(input), output_(output), kernels_(kernels) {
    const WeightParts weights = weight_parts(conv.weights);
    const std::int64_t inputs = input.shape.channels / conv.groups;
    const std::int64_t outputs = output.shape.channels / conv.groups;
    for (std::int64_t g = 0; g < conv.groups; ++g) {
      groups_.push_back(
          {g * inputs, g * outputs,
           pack_weights(weights, conv.bias, conv.requantization, unsigned_zero_point(input),
                        {g * outputs, outputs}),
           OutputStage(conv.requantization, conv.bias, output, g * outputs, kernels)});
    }
  }

  void run(Operands inputs, Tensor& output) const override {
    const UnsignedActivations activations(*inputs[0], input_);
    auto* out = reinterpret_cast<std::uint8_t*>(output.bytes.data());
    for (const Group& group : groups_) {
      const PictureView picture{activations.data(), input_.shape,
                                static_cast<std::uint8_t>(unsigned_zero_point(input_)),
                                group.first_input, input_.shape.channels / conv_.groups};
      if (reads_rows_in_place(group)) {
        run_in_place(activations.data(), group, out);
        continue;
      }
      kernels_.row_format == RowFormat::kWords ? run_on<std::uint16_t>(picture, group, out)
                                               : run_on<std::uint8_t>(picture, group, out);
    }
  }

 private:
  // Whether the picture's pixels are the GEMM's rows as they lie: a 1 x 1 convolution without
  // strides and pads, whose rows end with a whole quad. Long rows are gathered all the same: that
  // takes little beside their products, and spreads them over the cache's sets (row_pitch).
  bool reads_rows_in_place(const Group& group) const {
    const Window& w = conv_.window;
    return kernels_.row_format == RowFormat::kBytes && conv_.groups == 1 &&
           group.packed.parts == 1 && w.kernel_h == 1 && w.kernel_w == 1 && w.stride_h == 1 &&
           w.stride_w == 1 && input_.shape.channels % kQuad == 0 &&
           input_.shape.channels <= kMostChannelsInPlace &&
           output_.shape.height == input_.shape.height && output_.shape.width == input_.shape.width;
  }

  // The last tile's rows are copied, since kernels read whole tiles.
  void run_in_place(const std::uint8_t* rows, const Group& group, std::uint8_t* out) const {
    const ImageShape& shape = output_.shape;
    const std::int64_t pixels = shape.batch * shape.height * shape.width;
    const auto stride = static_cast<std::size_t>(input_.shape.channels);
    const std::int64_t block = block_pixels(stride);
    const std::int64_t whole = pixels / kernels_.tile_rows * kernels_.tile_rows;
    for (std::int64_t first = 0; first < whole; first += block) {
      multiply_block(group, rows + static_cast<std::size_t>(first) * stride, stride,
                     std::min(block, whole - first), out + first * shape.channels);
    }
    if (whole == pixels) return;
    std::vector<std::uint8_t> tile(static_cast<std::size_t>(kernels_.tile_rows) * stride);
    const auto begin = static_cast<std::size_t>(whole) * stride;
    std::copy_n(rows + begin, static_cast<std::size_t>(pixels) * stride - begin, tile.data());
    multiply_block(group, tile.data(), stride, pixels - whole, out + whole * shape.channels);
  }

  template <typename Element>
  void run_on(const PictureView& picture, const Group& group, std::uint8_t* out) const {
    const ImageShape& shape = output_.shape;
    const std::int64_t pixels = shape.batch * shape.height * shape.width;
    const std::size_t stride = row_pitch<Element>(group.packed.quads);
    const std::int64_t block =
        std::min(block_pixels(stride * sizeof(Element)), round_up(pixels, kernels_.tile_rows));
    std::vector<Element> rows(static_cast<std::size_t>(block) * stride);
    for (std::int64_t first = 0; first < pixels; first += block) {
      const std::int64_t count = std::min(block, pixels - first);
      gather_rows(picture, conv_.window, shape, first, count, group.packed.parts, rows.data(),
                  stride);
      multiply_block(group, rows.data(), stride, count,
                     out + first * shape.channels + group.first_output);
    }
  }

  // A multiple of tile_rows, so that the last tile of a block may read whole tiles.
  std::int64_t block_pixels(std::size_t row_bytes) const {
    const auto tile_rows = static_cast<std::size_t>(kernels_.tile_rows);
    const std::size_t tiles = kBlockBytes / (tile_rows * row_bytes);
    return static_cast<std::int64_t>(std::max<std::size_t>(tiles, 1) * tile_rows);
  }

  // `out` is the group's first channel of the block's first pixel.
  template <typename Element>
  void multiply_block(const Group& group, const Element* rows, std::size_t stride,
                      std::int64_t count, std::uint8_t* out) const {
    alignas(64) std::int32_t acc[kMostTileRows * kPanelChannels];
    const PackedWeights& packed = group.packed;
    const std::int64_t tile_rows = kernels_.tile_rows;
    for (std::size_t panel = 0; panel < packed.panel_count(); ++panel) {
      for (std::int64_t row = 0; row < count; row += tile_rows) {
        const int row_count = static_cast<int>(std::min(tile_rows, count - row));
        const TileOperands operands{rows + static_cast<std::size_t>(row) * stride, stride,
                                    packed.panel(panel), packed.quads,
                                    packed.initial[panel].values};
        kernels_.multiply_tile(operands, row_count, acc);
        group.stage.finish(acc, row_count, packed, panel, out + row * output_.shape.channels);
      }
    }
  }

  const Conv2d& conv_;
  const Value& input_;
  const Value& output_;
  const VectorKernels& kernels_;
  std::vector<Group> groups_;
};

}  // namespace

MadeLayer make_layer(const Conv2d& conv, const LayerContext& layer) {
  if (is_depthwise(conv, layer.input, layer.output)) return make_depthwise(conv, layer);
  return std::make_unique<Conv2dExecutor>(conv, layer.input, layer.output, layer.kernels);
}

}  // namespace qsim::golden
