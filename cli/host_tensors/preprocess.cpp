#include "cli/host_tensors/preprocess.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/printable.h"

namespace qsim::cli {

using formats::Image;
using formats::Sidecar;

Image fitted_picture(Image image, const Sidecar& sidecar, const InputForm& form) {
  const ImageShape& shape = form.value.shape;
  const ImageShape expected{1, sidecar.resize_height, sidecar.resize_width, 3};
  if (!(shape == expected)) {
    throw_bad_input(sidecar.file + ": resize makes pictures of " + shape_text(expected.nhwc()) +
                    "; graph '" + echoed(form.graph) + "' takes " + shape_text(shape.nhwc()));
  }
  const bool fits = image.height == shape.height && image.width == shape.width;
  return fits ? std::move(image) : formats::resize(image, shape.height, shape.width);
}

RealPixels real_pixels(const Sidecar& sidecar) {
  RealPixels pixels{};
  for (std::size_t c = 0; c < pixels.size(); ++c) {
    for (std::size_t byte = 0; byte < pixels[c].size(); ++byte) {
      const float x = static_cast<float>(byte) / 255.0f;
      pixels[c][byte] = (x - sidecar.mean[c]) / sidecar.std[c];
    }
  }
  return pixels;
}

std::optional<LevelPixels> level_pixels(const Sidecar& sidecar, const Value& value) {
  Value list = value;
  list.shape = {1, 1, 1, 3 * 256};
  Tensor real(DType::kFloat32, list.shape.nhwc());
  auto to = real.as<float>().begin();
  for (const auto& channel : real_pixels(sidecar)) {
    to = std::copy(channel.begin(), channel.end(), to);
  }
  const auto is_finite = [](float number) { return std::isfinite(number); };
  const std::span<const float> reals = real.as<float>();
  if (!value.scale || !std::all_of(reals.begin(), reals.end(), is_finite)) return std::nullopt;
  const Tensor levels = quantize_input(real, list);
  LevelPixels pixels{};
  for (std::size_t c = 0; c < pixels.size(); ++c) {
    std::copy_n(levels.bytes.begin() + static_cast<std::ptrdiff_t>(c * 256), 256,
                pixels[c].begin());
  }
  return pixels;
}

Tensor real_picture(const Image& image, const Sidecar& sidecar, const InputForm& form) {
  const Image fitted = fitted_picture(image, sidecar, form);
  const RealPixels pixels = real_pixels(sidecar);
  Tensor real(DType::kFloat32, form.value.shape.nhwc());
  const std::span<float> values = real.as<float>();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = pixels[i % 3][fitted.rgb[i]];
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

}  // namespace qsim::cli
