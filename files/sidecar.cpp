#include "files/sidecar.h"

#include <cmath>
#include <limits>

#include "files/yaml.h"

namespace qsim {
namespace {

std::array<float, 3> three_numbers(const YamlNode& map, std::string_view key, bool positive) {
  const YamlNode& list = map.at(key);
  if (list.items().size() != 3) {
    list.fail("a list of " + std::to_string(list.items().size()) +
              "; expected 3 numbers, for R, G and B");
  }
  std::array<float, 3> numbers{};
  for (std::size_t i = 0; i < 3; ++i) {
    const double number = list.items()[i].number();
    if (std::abs(number) > std::numeric_limits<float>::max()) {
      list.items()[i].fail("expected a number that float32 holds");
    }
    numbers[i] = static_cast<float>(number);
    if (positive && !(numbers[i] > 0)) list.items()[i].fail("expected a number above 0");
  }
  return numbers;
}

Sidecar parse(const YamlNode& root) {
  root.require_keys({"preprocess", "labels"});
  Sidecar sidecar;
  const YamlNode& steps = root.at("preprocess");
  steps.require_keys({"resize", "mean", "std"});
  const std::vector<std::int64_t> size = integers(steps, "resize", 2, 1, 65536);
  sidecar.resize_height = size[0];
  sidecar.resize_width = size[1];
  sidecar.mean = three_numbers(steps, "mean", false);
  sidecar.std = three_numbers(steps, "std", true);
  if (const YamlNode* labels = root.find("labels")) {
    for (const YamlNode& label : labels->items()) sidecar.labels.push_back(label.text());
  }
  return sidecar;
}

}  // namespace

std::optional<Sidecar> load_sidecar_of(const std::filesystem::path& model_path) {
  std::filesystem::path path = model_path;
  path.replace_extension(".yaml");
  std::error_code ignored;
  if (path == model_path || !std::filesystem::exists(path, ignored)) return std::nullopt;
  Sidecar sidecar = parse(load_yaml(path));
  sidecar.file = path.string();
  return sidecar;
}

Tensor preprocess(const Image& image, const Sidecar& sidecar, const Graph& graph) {
  const ImageShape& shape = graph.input.shape;
  const ImageShape expected{1, sidecar.resize_height, sidecar.resize_width, 3};
  if (!(shape == expected)) {
    throw_bad_input(sidecar.file + ": makes pictures of " + shape_text(expected.nhwc()) +
                    "; graph '" + graph.name + "' takes " + shape_text(shape.nhwc()));
  }
  const Image resized = resize(image, sidecar.resize_height, sidecar.resize_width);
  Tensor real(DType::kFloat32, shape.nhwc());
  const std::span<float> values = real.as<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float x = static_cast<float>(resized.rgb[i]) / 255.0f;
    values[i] = (x - sidecar.mean[i % 3]) / sidecar.std[i % 3];
  }
  return quantize_input(real, graph.input);
}

Tensor quantize_input(const Tensor& float_nhwc, const Value& value) {
  if (float_nhwc.dtype != DType::kFloat32 || float_nhwc.shape != value.shape.nhwc()) {
    throw_bad_input("input tensor is " + std::string(dtype_name(float_nhwc.dtype)) + " " +
                    shape_text(float_nhwc.shape) + "; expected float32 " +
                    shape_text(value.shape.nhwc()));
  }
  if (!value.scale_exponent) {
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
    // The scale is a power of two, so multiplying is as exact as QuantizeLinear's division.
    const float scaled = std::ldexp(values[i], *value.scale_exponent);
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
