// ReLU and Flatten as their definitions read.
#include "golden/cpu/quantized_view.h"
#include "golden/cpu/reference_layers.h"

namespace qsim::golden {

Tensor reference_relu(const Value& output_value, const Tensor& input) {
  Tensor output(output_value.dtype, output_value.shape.nhwc());
  for (std::int64_t i = 0; i < output.elems(); ++i) {
    set_quantized(output, i, std::max(quantized_at(input, i), output_value.zero_point));
  }
  return output;
}

Tensor reference_flatten(const Flatten& flatten, const Value& input_value,
                         const Value& output_value, const Tensor& input) {
  const auto [batch, height, width, channels] = input_value.shape;
  Tensor output(output_value.dtype, output_value.shape.nhwc());
  for (std::int64_t n = 0; n < batch; ++n) {
    for (std::int64_t y = 0; y < height; ++y) {
      for (std::int64_t x = 0; x < width; ++x) {
        for (std::int64_t c = 0; c < channels; ++c) {
          const std::int64_t from = nhwc_index(height, width, channels, n, y, x, c);
          const std::int64_t to = flatten.order == Flatten::Order::kHwc
                                      ? from
                                      : nhwc_index(channels, height, width, n, c, y, x);
          set_quantized(output, to, quantized_at(input, from));
        }
      }
    }
  }
  return output;
}

}  // namespace qsim::golden
