// From a picture, or from real numbers, to the 8-bit tensor that the network takes.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "cli/host_tensors/host_layout.h"
#include "formats/pictures/image.h"
#include "formats/settings/sidecar.h"

namespace qsim::cli {

// A picture as the network's input tensor: resized, v = (x / 255 - mean) / std in float32, then
// quantize_input. Throws Error when the network does not take one RGB picture of that size.
Tensor preprocess(const formats::Image& image, const formats::Sidecar& sidecar,
                  const InputForm& form);

// The same real numbers before they are quantized: float32 NHWC.
Tensor real_picture(const formats::Image& image, const formats::Sidecar& sidecar,
                    const InputForm& form);

// The picture in the size that the network takes. Throws Error as preprocess().
formats::Image fitted_picture(formats::Image image, const formats::Sidecar& sidecar,
                              const InputForm& form);

// By channel and byte of a fitted picture: the real number and the level that it becomes.
using RealPixels = std::array<std::array<float, 256>, 3>;
using LevelPixels = std::array<std::array<std::byte, 256>, 3>;
RealPixels real_pixels(const formats::Sidecar& sidecar);
// Nothing where quantize_input() throws for some byte.
std::optional<LevelPixels> level_pixels(const formats::Sidecar& sidecar, const Value& value);

// q = saturate(round_half_even(v / scale) + zero_point): ONNX QuantizeLinear in
// float32 of a float32 tensor. Throws Error for another shape or dtype, a value that is not finite,
// or a Value without a scale.
Tensor quantize_input(const Tensor& float_nhwc, const Value& value);

}  // namespace qsim::cli
