// Depthwise convolution: each output channel reads one input channel. There is no GEMM in it, so
// the channels are the vectors, and a list of pointers says where the activations under the kernel
// lie.
#include <algorithm>
#include <cstring>

#include "core/base/checked_math.h"
#include "golden/graph/cpu/optimised_layers.h"
#include "golden/graph/cpu/output_stage.h"

namespace qsim::golden {
namespace {

class DepthwiseExecutor : public LayerExecutor {
 public:
  DepthwiseExecutor(const Conv2d& conv, const Value& input, const Value& output,
                    const VectorKernels& kernels)
      : window_(conv.window),
        input_(input),
        output_(output),
        kernels_(kernels),
        packed_(pack_weights(weight_parts(conv.weights), conv.bias, conv.requantization,
                             unsigned_zero_point(input), {0, output.shape.channels})),
        stage_(conv.requantization, conv.bias, output, 0, kernels),
        outside_(static_cast<std::size_t>(round_up(input.shape.channels, kPanelChannels)),
                 static_cast<std::uint8_t>(unsigned_zero_point(input))) {}

  void run(Operands inputs, Tensor& output) const override {
    const UnsignedActivations activations(*inputs[0], input_);
    auto* out = reinterpret_cast<std::uint8_t*>(output.bytes.data());
    const ImageShape& shape = output_.shape;
    const std::int64_t rows = shape.batch * shape.height;
    const std::uint8_t* const end = activations.data() + inputs[0]->bytes.size();
    std::vector<const std::uint8_t*> taps(kMostTileRows * tap_count());
    std::vector<std::uint8_t> tail(kMostTileRows * tap_count() * kPanelChannels);
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t ox = 0; ox < shape.width; ox += kMostTileRows) {
        const auto count =
            static_cast<int>(std::min<std::int64_t>(kMostTileRows, shape.width - ox));
        find_taps(activations.data(), row / shape.height, row % shape.height, ox, count, taps);
        run_pixels(taps, end, count, tail, out + (row * shape.width + ox) * shape.channels);
      }
    }
  }

 private:
  std::size_t tap_count() const { return packed_.quads * kQuad; }

  // The pointers of `count` pixels from (oy, ox) on. Positions outside the picture, and those
  // beyond the kernel that fill a quad, are the zero_point.
  void find_taps(const std::uint8_t* picture, std::int64_t n, std::int64_t oy, std::int64_t ox,
                 int count, std::vector<const std::uint8_t*>& taps) const {
    for (int r = 0; r < count; ++r) {
      const std::uint8_t** row = taps.data() + static_cast<std::size_t>(r) * tap_count();
      if (r > 0 && is_inside(ox + r - 1) && is_inside(ox + r)) {
        move_taps(row - tap_count(), row);
      } else {
        find_taps(picture, n, oy, ox + r, row);
      }
    }
  }

  // Whether every kernel column of output column ox is inside the picture.
  bool is_inside(std::int64_t ox) const {
    const std::int64_t left = ox * window_.stride_w - window_.pad_left;
    return left >= 0 && left + window_.extent_w() <= input_.shape.width;
  }

  // The taps of the pixel to the right: kernel rows outside the picture stay there.
  void move_taps(const std::uint8_t* const* from, const std::uint8_t** to) const {
    const std::int64_t step = window_.stride_w * input_.shape.channels;
    const std::uint8_t* const outside = outside_.data();
    for (std::size_t i = 0; i < tap_count(); ++i) {
      to[i] = from[i] == outside ? outside : from[i] + step;
    }
  }

  void find_taps(const std::uint8_t* picture, std::int64_t n, std::int64_t oy, std::int64_t ox,
                 const std::uint8_t** row) const {
    const ImageShape& in = input_.shape;
    const auto positions = static_cast<std::size_t>(window_.kernel_h * window_.kernel_w);
    const std::uint8_t** tap = row;
    const std::int64_t left = ox * window_.stride_w - window_.pad_left;
    for (std::int64_t ky = 0; ky < window_.kernel_h; ++ky) {
      const std::int64_t y = oy * window_.stride_h + ky * window_.dilation_h - window_.pad_top;
      const bool row_inside = y >= 0 && y < in.height;
      for (std::int64_t kx = 0; kx < window_.kernel_w; ++kx) {
        const std::int64_t x = left + kx * window_.dilation_w;
        *tap++ = row_inside && x >= 0 && x < in.width
                     ? picture + ((n * in.height + y) * in.width + x) * in.channels
                     : outside_.data();
      }
    }
    for (std::size_t part = 1; part < packed_.parts; ++part, tap += positions) {
      std::copy_n(row, positions, tap);
    }
    std::fill(tap, row + tap_count(), outside_.data());
  }

  // `end` is that of the picture: kernels that read whole panels must not pass it.
  void run_pixels(const std::vector<const std::uint8_t*>& taps, const std::uint8_t* end, int count,
                  std::vector<std::uint8_t>& tail, std::uint8_t* out) const {
    alignas(64) std::int32_t acc[kMostTileRows * kPanelChannels];
    for (std::size_t panel = 0; panel < packed_.panel_count(); ++panel) {
      const std::size_t first = panel * kPanelChannels;
      DepthwiseOperands operands{taps.data(), first, packed_.panel(panel), packed_.quads,
                                 packed_.initial[panel].values};
      const auto channels = static_cast<std::size_t>(input_.shape.channels) - first;
      std::vector<const std::uint8_t*> tail_taps;
      if (channels < kPanelChannels && !have_whole_panels(taps, first, end, count)) {
        tail_taps.resize(static_cast<std::size_t>(count) * tap_count());
        for (std::size_t i = 0; i < tail_taps.size(); ++i) {
          std::uint8_t* copy = tail.data() + i * kPanelChannels;
          std::memcpy(copy, taps[i] + first, channels);
          tail_taps[i] = copy;
        }
        operands.taps = tail_taps.data();
        operands.first_channel = 0;
      }
      kernels_.multiply_depthwise(operands, count, acc);
      stage_.finish(acc, count, packed_, panel, out);
    }
  }

  // Whether a whole panel from channel `first` on can be read at each tap: all are in the picture's
  // bytes, or outside_, which has room.
  bool have_whole_panels(const std::vector<const std::uint8_t*>& taps, std::size_t first,
                         const std::uint8_t* end, int count) const {
    const std::uint8_t* const outside = outside_.data();
    return std::all_of(
        taps.begin(), taps.begin() + count * static_cast<std::ptrdiff_t>(tap_count()),
        [&](const std::uint8_t* tap) {
          return tap == outside || static_cast<std::size_t>(end - tap) >= first + kPanelChannels;
        });
  }

  const Window& window_;
  const Value& input_;
  const Value& output_;
  const VectorKernels& kernels_;
  PackedWeights packed_;
  OutputStage stage_;
  std::vector<std::uint8_t> outside_;  // one pixel outside the picture
};

}  // namespace

bool is_depthwise(const Conv2d& conv, const Value& input, const Value& output) {
  return conv.groups == input.shape.channels && conv.groups == output.shape.channels;
}

MadeLayer make_depthwise(const Conv2d& conv, const LayerContext& layer) {
  return std::make_unique<DepthwiseExecutor>(conv, layer.input, layer.output, layer.kernels);
}

}  // namespace qsim::golden
