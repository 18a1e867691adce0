#include "cli/host_tensors/preprocess.h"

#include <cmath>

#include "core/printable.h"

namespace qsim {

Tensor real_picture(const Image& image, const Sidecar& sidecar, const InputForm& form) {
  const ImageShape& shape = form.value.shape;
  const ImageShape expected{1, sidecar.resize_height, sidecar.resize_width, 3};
  if (!(shape == expected)) {
    throw_bad_input(sidecar.file + ": resize makes pictures of " + shape_text(expected.nhwc()) +
                    "; graph '" + echoed(form.graph) + "' takes " + shape_text(shape.nhwc()));
  }
  const Image resized = resize(image, sidecar.resize_height, sidecar.resize_width);
  Tensor real(DType::kFloat32, shape.nhwc());
  const std::span<float> values = real.as<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float x = static_cast<float>(resized.rgb[i]) / 255.0f;
    values[i] = (x - sidecar.mean[i % 3]) / sidecar.std[i % 3];
  }
  return real;
}

Tensor preprocess(const Image& image, const Sidecar& sidecar, const InputForm& form) {
  return quantize_input(real_picture(image, sidecar, form), form.value);
}

Tensor quantize_input(const Tensor& float_nhwc, const Value& value) {
  if (float_nhwc.dtype != DType::kFloat32 || float_nhwc.shape != value.shape.nhwc()) {
    throw_bad_input("input tensor is " + std::string(dtype_name(float_nhwc.dtype)) + " " +
                    shape_text(float_nhwc.shape) + "; expected float32 " +
                    shape_text(value.shape.nhwc()));
  }
  if (!value.scale) {
    throw_bad_input(
        "the model gives its input no scale, so real numbers cannot be quantized; "
        "give it " +
        std::string(dtype_name(value.dtype)) + " values");
  }
  Tensor quantized(value.dtype, float_nhwc.shape);
  const std::span<const float> values = float_nhwc.as<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      throw_bad_input("element " + std::to_string(i) +
                      " is not a finite number (counted in NHWC order)");
    }
    const float scaled = values[i] / value.scale->real();
    const float rounded = std::nearbyint(scaled);  // to nearest even, the default environment
    const float lowest = static_cast<float>(value.min() - value.zero_point);
    const float highest = static_cast<float>(value.max() - value.zero_point);
    const float clamped = rounded < lowest ? lowest : (rounded > highest ? highest : rounded);
    const int q = static_cast<int>(clamped) + value.zero_point;
    quantized.bytes[i] = static_cast<std::byte>(static_cast<unsigned char>(q & 0xff));
  }
  return quantized;
}

}  // namespace qsim
