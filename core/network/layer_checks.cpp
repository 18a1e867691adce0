#include "core/network/layer_checks.h"

#include "core/base/checked_math.h"
#include "core/base/limits.h"

namespace qsim {
namespace {

ImageShape window_shape(const Window& w, const ImageShape& in, std::int64_t channels,
                        bool ceil_mode) {
  return {in.batch,
          window_count(in.height, w.extent_h(), w.stride_h, w.pad_top, w.pad_bottom, ceil_mode),
          window_count(in.width, w.extent_w(), w.stride_w, w.pad_left, w.pad_right, ceil_mode),
          channels};
}

}  // namespace

void fail_at(const std::string& place, const std::string& message) {
  throw_bad_input(place + ": " + message);
}

void fail_at(const Layer& layer, const std::string& message) {
  fail_at(layer_place(layer.name, layer.source), message);
}

void check_constant(const std::string& place, const Tensor& tensor, std::string_view what,
                    DType dtype, const Shape& shape) {
  if (tensor.dtype != dtype || tensor.shape != shape) {
    fail_at(place, std::string(what) + " is " + std::string(dtype_name(tensor.dtype)) + " " +
                       shape_text(tensor.shape) + "; expected " + std::string(dtype_name(dtype)) +
                       " " + shape_text(shape));
  }
  const std::size_t bytes = static_cast<std::size_t>(tensor.elems()) * dtype_bytes(tensor.dtype);
  QSIM_CHECK(tensor.bytes.empty() || tensor.bytes.size() == bytes,
             place + ": " + std::string(what) + " is not as long as its shape says");
}

void check_tensor_shape(const std::string& place, const ImageShape& shape) {
  const Shape sizes = shape.nhwc();
  for (const std::int64_t dim : sizes) {
    if (dim < 1) fail_at(place, "shape " + shape_text(sizes));
  }
  const std::int64_t elems = with_place(place, [&] { return element_count(sizes); });
  if (elems <= kMaxTensorElems) return;
  fail_at(place, std::to_string(elems) + " elements, shape " + shape_text(sizes) + "; at most " +
                     std::to_string(kMaxTensorElems) + " are allowed");
}

void check_output_shape(const std::string& place, const ImageShape& output,
                        const ImageShape& expected) {
  if (output == expected) return;
  fail_at(place, "output shape " + shape_text(output.nhwc()) + "; expected " +
                     shape_text(expected.nhwc()));
}

void check_operand_shape(const std::string& place, const ImageShape& operand,
                         const ImageShape& expected) {
  if (operand == expected) return;
  fail_at(place, "reads a tensor " + shape_text(operand.nhwc()) + "; expected " +
                     shape_text(expected.nhwc()));
}

void check_window(const std::string& place, const Window& window) {
  if (window.kernel_h < 1 || window.kernel_w < 1) {
    fail_at(place, "kernel is smaller than 1; allowed: 1 or more");
  }
  if (window.stride_h < 1 || window.stride_w < 1) {
    fail_at(place, "stride is smaller than 1; allowed: 1 or more");
  }
  if (window.pad_top < 0 || window.pad_left < 0 || window.pad_bottom < 0 || window.pad_right < 0) {
    fail_at(place, "padding is negative; allowed: 0 or more");
  }
  if (window.dilation_h < 1 || window.dilation_w < 1) {
    fail_at(place, "dilation is smaller than 1; allowed: 1 or more");
  }
}

void check_groups(const std::string& place, std::int64_t groups, std::int64_t in_channels,
                  std::int64_t out_channels) {
  if (groups >= 1 && in_channels % groups == 0 && out_channels % groups == 0) return;
  fail_at(place, std::to_string(groups) + " groups do not divide " + std::to_string(in_channels) +
                     " input channels and " + std::to_string(out_channels) + " output channels");
}

void check_convolution_shape(const std::string& place, const Window& window,
                             const ImageShape& input, const ImageShape& output) {
  check_output_shape(place, output, window_shape(window, input, output.channels, false));
}

void check_pool(const std::string& place, const Window& window, const ImageShape& input,
                const ImageShape& output) {
  check_window(place, window);
  if (window.pad_top >= window.extent_h() || window.pad_bottom >= window.extent_h() ||
      window.pad_left >= window.extent_w() || window.pad_right >= window.extent_w()) {
    fail_at(place, "padding is as large as the pooling kernel; allowed: less");
  }
  if (output == window_shape(window, input, input.channels, false)) return;
  check_output_shape(place, output, window_shape(window, input, input.channels, true));
}

void check_no_dilation(const std::string& place, const Window& window) {
  if (window.dilation_h == 1 && window.dilation_w == 1) return;
  fail_at(place, "dilation is " + std::to_string(window.dilation_h) + " x " +
                     std::to_string(window.dilation_w) + "; average_pool takes 1 alone");
}

void check_is_vector(const std::string& place, const ImageShape& input) {
  if (input.height == 1 && input.width == 1) return;
  fail_at(place, "reads a picture " + shape_text(input.nhwc()) + "; flatten it first");
}

void check_flat_shape(const std::string& place, const ImageShape& input, const ImageShape& output) {
  check_output_shape(
      place, output,
      {input.batch, 1, 1, checked_mul(checked_mul(input.height, input.width), input.channels)});
}

}  // namespace qsim
