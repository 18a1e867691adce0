// Average-pooling: sums of all channels of a window, which lie side by side, requantized as a tile
// whose rows are 32 channels each.
#include <algorithm>
#include <map>

#include "core/base/checked_math.h"
#include "core/network/layer_arithmetic.h"
#include "golden/graph/cpu/optimised_layers.h"
#include "golden/graph/cpu/packed_weights.h"

namespace qsim::golden {
namespace {

// Below it, |255 * count| <= 2^29: requantize_scaled_tile takes every sum.
constexpr std::int64_t kMostCount = std::int64_t{1} << 21;

class AveragePoolExecutor : public LayerExecutor {
 public:
  AveragePoolExecutor(const AveragePool& pool, const Value& input, const Value& output,
                      const VectorKernels& kernels)
      : pool_(pool), input_(input), output_(output), kernels_(kernels) {
    for (std::int64_t oy = 0; oy < output.shape.height; ++oy) {
      for (std::int64_t ox = 0; ox < output.shape.width; ++ox) add_panel(oy, ox);
    }
  }

  void run(Operands inputs, Tensor& output) const override {
    const UnsignedActivations activations(*inputs[0], input_);
    const ImageShape& shape = output_.shape;
    auto* out = reinterpret_cast<std::uint8_t*>(output.bytes.data());
    const std::int64_t padded = round_up(shape.channels, kPanelChannels);
    std::vector<PsumRow> sums(static_cast<std::size_t>(padded / kPanelChannels));
    for (std::int64_t n = 0; n < shape.batch; ++n) {
      const std::uint8_t* picture =
          activations.data() + n * input_.shape.height * input_.shape.width * shape.channels;
      for (std::int64_t oy = 0; oy < shape.height; ++oy) {
        for (std::int64_t ox = 0; ox < shape.width; ++ox, out += shape.channels) {
          add_window(picture, oy, ox, sums[0].values);
          finish(sums[0].values, average_count(pool_, input_.shape, oy, ox), out);
        }
      }
    }
  }

 private:
  void add_panel(std::int64_t oy, std::int64_t ox) {
    const std::int64_t count = average_count(pool_, input_.shape, oy, ox);
    const auto [place, is_new] = panels_.try_emplace(count);
    if (!is_new) return;
    const Requantizer requantizer = average_requantizer(pool_, input_, output_, count).value();
    for (std::size_t c = 0; c < kPanelChannels; ++c) place->second.set(c, requantizer);
  }

  // The sums of x - zero_point under one window, by channel.
  void add_window(const std::uint8_t* picture, std::int64_t oy, std::int64_t ox,
                  std::int32_t* sums) const {
    const Window& w = pool_.window;
    const ImageShape& in = input_.shape;
    const std::int64_t top = oy * w.stride_h - w.pad_top;
    const std::int64_t left = ox * w.stride_w - w.pad_left;
    const auto first_y = std::max<std::int64_t>(top, 0);
    const auto first_x = std::max<std::int64_t>(left, 0);
    const std::int64_t last_y = std::min(top + w.kernel_h, in.height);
    const std::int64_t last_x = std::min(left + w.kernel_w, in.width);
    const auto inside = static_cast<std::int32_t>((last_y - first_y) * (last_x - first_x));
    std::fill_n(sums, in.channels, wrapping_mul(-unsigned_zero_point(input_), inside));
    for (std::int64_t y = first_y; y < last_y; ++y) {
      for (std::int64_t x = first_x; x < last_x; ++x) {
        const std::uint8_t* pixel = picture + (y * in.width + x) * in.channels;
        for (std::int64_t c = 0; c < in.channels; ++c) sums[c] = wrapping_add(sums[c], pixel[c]);
      }
    }
  }

  void finish(const std::int32_t* sums, std::int64_t count, std::uint8_t* out) const {
    const RequantizerPanel& panel = panels_.at(count);
    const OutputRange range{output_.zero_point, pool_.lo, pool_.hi};
    const std::int64_t channels = output_.shape.channels;
    if (count > kMostCount) {
      for (std::int64_t c = 0; c < channels; ++c) {
        out[c] = static_cast<std::uint8_t>(
            requantize(sums[c], 0, panel.requantizers[0], range.zero_point, range.lo, range.hi));
      }
      return;
    }
    const std::int64_t whole = channels / kPanelChannels;
    kernels_.requantize_scaled_tile(sums, static_cast<int>(whole), panel, range, kPanelChannels,
                                    out, kPanelChannels);
    const std::int64_t first = whole * kPanelChannels;
    if (first == channels) return;
    kernels_.requantize_scaled_tile(sums + first, 1, panel, range,
                                    static_cast<int>(channels - first), out + first,
                                    kPanelChannels);
  }

  const AveragePool& pool_;
  const Value& input_;
  const Value& output_;
  const VectorKernels& kernels_;
  std::map<std::int64_t, RequantizerPanel> panels_;  // by count; a window's inside has few
};

}  // namespace

MadeLayer make_layer(const AveragePool& pool, const LayerContext& layer) {
  return std::make_unique<AveragePoolExecutor>(pool, layer.input, layer.output, layer.kernels);
}

}  // namespace qsim::golden
