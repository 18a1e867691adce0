// Shapes and checks of binary convolution.
#include "golden/kernels/binary/binary_conv.h"

#include <cmath>

#include "core/base/checked_math.h"

namespace qsim::golden {
namespace {

void require_finite(std::span<const float> values, const char* name) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    throw_bad_input("binary convolution: " + std::string(name) + "[" + std::to_string(i) +
                    "] is not finite");
  }
}

void require_length(std::size_t found, std::int64_t wanted, const char* name) {
  if (static_cast<std::int64_t>(found) == wanted) return;
  throw_bad_input("binary convolution: " + std::string(name) + " has " + std::to_string(found) +
                  " numbers; expected " + std::to_string(wanted));
}

void require_window(const WeightShape& weights, const Window& window) {
  if (window.kernel_h != weights.kernel_h || window.kernel_w != weights.kernel_w) {
    throw_bad_input("binary convolution: the window is " + std::to_string(window.kernel_h) + "x" +
                    std::to_string(window.kernel_w) + " and the weights' kernel " +
                    std::to_string(weights.kernel_h) + "x" + std::to_string(weights.kernel_w) +
                    "; they must be equal");
  }
  for (const std::int64_t step :
       {window.stride_h, window.stride_w, window.dilation_h, window.dilation_w}) {
    if (step >= 1) continue;
    throw_bad_input("binary convolution: a stride or dilation is " + std::to_string(step) +
                    "; each must be at least 1");
  }
  for (const std::int64_t pad :
       {window.pad_top, window.pad_left, window.pad_bottom, window.pad_right}) {
    if (pad >= 0) continue;
    throw_bad_input("binary convolution: a pad is " + std::to_string(pad) +
                    "; each must be at least 0");
  }
}

// Window positions along one axis.
std::int64_t positions(std::int64_t size, std::int64_t extent, std::int64_t stride,
                       const char* what) {
  if (extent > size) {
    throw_bad_input("binary convolution: the " + std::string(what) + " spans " +
                    std::to_string(extent) + " pixels, and there are " + std::to_string(size) +
                    " with the pads");
  }
  return (size - extent) / stride + 1;
}

}  // namespace

ImageShape window_shape(const WeightShape& weights, const Window& window, const ImageShape& input) {
  if (weights.channels != input.channels) {
    throw_bad_input("binary convolution: the weights have " + std::to_string(weights.channels) +
                    " channels and the input " + std::to_string(input.channels) +
                    "; they must be equal");
  }
  require_window(weights, window);
  if (checked_mul(weights.taps(), weights.channels) > INT32_MAX / 2) {
    throw_bad_input("binary convolution: a dot has " +
                    std::to_string(weights.taps() * weights.channels) + " products; at most " +
                    std::to_string(INT32_MAX / 2));
  }
  return with_place("binary convolution", [&]() -> ImageShape {
    const std::int64_t height =
        checked_add(input.height, checked_add(window.pad_top, window.pad_bottom));
    const std::int64_t width =
        checked_add(input.width, checked_add(window.pad_left, window.pad_right));
    return {input.batch, positions(height, window.extent_h(), window.stride_h, "kernel"),
            positions(width, window.extent_w(), window.stride_w, "kernel"), weights.out_channels};
  });
}

ImageShape output_shape(const BinaryConv& conv, const ImageShape& input, int input_bases) {
  const WeightShape& weights = conv.weights.shape;
  const ImageShape shape = window_shape(weights, conv.window, input);
  require_length(conv.beta.size(), input_bases, "beta");
  require_length(conv.weights.alpha.size(), conv.weights.bases * weights.out_channels, "alpha");
  if (!conv.bias.empty()) require_length(conv.bias.size(), weights.out_channels, "bias");
  require_finite(conv.beta, "beta");
  require_finite(conv.weights.alpha, "alpha");
  require_finite(conv.bias, "bias");
  return shape;
}

ImageShape stage_shape(const BinaryConv& conv, const BinaryStage& stage, const ImageShape& input,
                       int input_bases) {
  ImageShape shape = output_shape(conv, input, input_bases);
  require_length(stage.gain.size(), shape.channels, "gain");
  require_length(stage.shift.size(), shape.channels, "shift");
  require_finite(stage.gain, "gain");
  require_finite(stage.shift, "shift");
  require_finite(stage.v, "v");
  if (!stage.pool) return shape;
  const auto [size, stride] = *stage.pool;
  if (size < 1 || stride < 1) {
    throw_bad_input("binary convolution: the max-pool has size " + std::to_string(size) +
                    " and stride " + std::to_string(stride) + "; each must be at least 1");
  }
  shape.height = positions(shape.height, size, stride, "max-pool");
  shape.width = positions(shape.width, size, stride, "max-pool");
  return shape;
}

}  // namespace qsim::golden
