#include "cli/session/abc/abc_layers.h"

#include <algorithm>
#include <variant>

#include "core/base/printable.h"
#include "formats/onnx/importer/float_weights.h"
#include "formats/traces/npy.h"

namespace qsim::cli {
namespace {

// [a][b][h][w] to [a][h][w][b].
std::vector<float> channels_last(std::span<const float> values, const Shape& shape) {
  const auto b = static_cast<std::size_t>(shape[1]);
  const auto pixels = static_cast<std::size_t>(shape[2] * shape[3]);
  std::vector<float> result(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t picture = i / pixels / b;
    result[(picture * pixels + i % pixels) * b + i / pixels % b] = values[i];
  }
  return result;
}

// A float32 array of four dimensions with elements; `names` are theirs.
Tensor read_array(const std::string& file, const std::string& names) {
  Tensor tensor = formats::read_npy(file);
  const bool fits = tensor.dtype == DType::kFloat32 && tensor.shape.size() == 4;
  if (!fits || tensor.bytes.empty()) {
    throw_bad_input(file + ": found " + std::string(dtype_name(tensor.dtype)) + " " +
                    shape_text(tensor.shape) + "; expected float32 " + names + ", each at least 1");
  }
  return tensor;
}

std::vector<float> floats_of(const Tensor& weights) {
  std::vector<float> values;
  if (weights.dtype == DType::kInt8) {
    for (const std::int8_t value : weights.as<std::int8_t>()) values.push_back(value);
  } else {
    for (const std::int16_t value : weights.as<std::int16_t>()) values.push_back(value);
  }
  return values;
}

AbcLayer layer_of(const std::string& name, const Tensor& tensor) {
  const Shape& s = tensor.shape;
  return {name, {s[0], s[2], s[3], s[1]}, channels_last(tensor.as<float>(), s)};
}

[[noreturn]] void refuse_name(const std::string& file, const std::string& name,
                              const std::vector<AbcLayer>& layers) {
  std::string names;
  for (const AbcLayer& layer : layers) names += (names.empty() ? "" : ", ") + echoed(layer.name);
  throw_bad_input("--layer '" + echoed(name) + "' has no float weights in " + file +
                  "; these have: " + names);
}

}  // namespace

std::vector<AbcLayer> abc_layers(const Graph& graph, const std::string& name) {
  std::vector<AbcLayer> layers;
  for (const Layer& layer : graph.layers) {
    if (const auto* conv = std::get_if<Conv2d>(&layer.operation); conv && conv->groups == 1) {
      const Shape& s = conv->weights.shape;
      layers.push_back({layer.name, {s[0], s[1], s[2], s[3]}, floats_of(conv->weights)});
    }
    if (const auto* fc = std::get_if<FullyConnected>(&layer.operation)) {
      const Shape& s = fc->weights.shape;
      layers.push_back({layer.name, {s[0], 1, 1, s[1]}, floats_of(fc->weights)});
    }
  }
  if (layers.empty()) {
    throw_bad_input(name +
                    ": no convolution without groups and no fully connected layer, whose weights "
                    "could be made binary");
  }
  return layers;
}

std::vector<AbcLayer> read_abc_weights(const std::string& file, const std::string& name) {
  std::vector<AbcLayer> layers;
  if (file.ends_with(".onnx")) {
    for (const formats::FloatWeights& found : formats::read_float_weights(file)) {
      layers.push_back(layer_of(found.name, found.weights));
    }
  } else {
    layers.push_back(
        layer_of(file, read_array(file, "[out_channels, channels, kernel_h, kernel_w]")));
  }
  if (name.empty()) return layers;
  const auto named = std::find_if(layers.begin(), layers.end(),
                                  [&](const AbcLayer& layer) { return layer.name == name; });
  if (named == layers.end()) refuse_name(file, name, layers);
  return {std::move(*named)};
}

AbcInput read_abc_input(const std::string& file) {
  const Tensor tensor = read_array(file, "[batch, channels, height, width]");
  const Shape& s = tensor.shape;
  return {{s[0], s[2], s[3], s[1]}, channels_last(tensor.as<float>(), s)};
}

Tensor abc_output(const std::vector<float>& values, const ImageShape& shape) {
  Tensor tensor(DType::kFloat32, {shape.batch, shape.channels, shape.height, shape.width});
  const auto channels = static_cast<std::size_t>(shape.channels);
  const auto pixels = static_cast<std::size_t>(shape.height * shape.width);
  const std::span<float> to = tensor.as<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t picture = i / channels / pixels;
    to[(picture * channels + i % channels) * pixels + i / channels % pixels] = values[i];
  }
  return tensor;
}

}  // namespace qsim::cli
