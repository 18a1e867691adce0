// Reads layer traces; layer_trace_writer.cpp is its inverse.
#include <array>
#include <charconv>
#include <optional>

#include <sys/stat.h>

#include "core/printable.h"
#include "files/files.h"
#include "files/graph_words.h"
#include "files/layer_trace.h"
#include "files/npy.h"
#include "files/yaml.h"

namespace qsim {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMaxWindow = 1 << 20;

Tensor tensor_of(const fs::path& folder, const YamlNode& map, std::string_view key) {
  const YamlNode& node = map.at(key);
  const fs::path name = node.text();
  if (name.empty() || name != name.filename()) {
    node.fail("found '" + echoed(node.text()) +
              "'; expected the name of a file in the same folder");
  }
  return read_npy(folder / name);
}

// An activation: NHWC, or [N][C] for vectors, which become [N][1][1][C].
Tensor activation_of(const fs::path& folder, const YamlNode& map, std::string_view key) {
  Tensor tensor = tensor_of(folder, map, key);
  if (tensor.dtype != DType::kInt8 && tensor.dtype != DType::kUint8) {
    map.at(key).fail("holds " + std::string(dtype_name(tensor.dtype)) +
                     "; activations are int8 or uint8");
  }
  if (tensor.shape.size() == 2) tensor.shape = {tensor.shape[0], 1, 1, tensor.shape[1]};
  if (tensor.shape.size() != 4) {
    map.at(key).fail("has shape " + shape_text(tensor.shape) +
                     "; expected [N, H, W, C], or [N, C] for vectors");
  }
  return tensor;
}

// `scale_exponent`, or `scale` as the nearest float32.
std::optional<Scale> scale_of(const YamlNode& map) {
  const YamlNode* exponent = map.find("scale_exponent");
  const YamlNode* real = map.find("scale");
  if (exponent != nullptr && real != nullptr) {
    real->fail("'scale' beside 'scale_exponent'; give one of them");
  }
  if (exponent != nullptr) {
    return Scale::power_of_two(
        -static_cast<int>(exponent->integer(-kMaxScaleExponent, kMaxScaleExponent)));
  }
  if (real == nullptr) return std::nullopt;
  real->number();
  const std::string& text = real->text();
  float value = 0;  // read from the text at once: by way of a double it could be rounded twice
  std::from_chars(text.data() + (text.starts_with('+') ? 1 : 0), text.data() + text.size(), value);
  const auto scale = Scale::of(value);
  if (!scale) real->fail("found '" + echoed(text) + "'; expected a positive float32");
  return scale;
}

Value value_of(const YamlNode& map, const Tensor& tensor) {
  const Shape& shape = tensor.shape;
  Value value;
  value.shape = {shape[0], shape[1], shape[2], shape[3]};
  value.dtype = tensor.dtype;
  value.zero_point =
      static_cast<std::int32_t>(integer_or(map, "zero_point", value.min(), value.max(), 0));
  value.scale = scale_of(map);
  return value;
}

Window window_of(const YamlNode& map, std::optional<Shape> weights) {
  Window window;
  if (map.find("kernel") != nullptr || !weights) {
    const auto kernel = integers(map, "kernel", 2, 1, kMaxWindow);
    window.kernel_h = kernel[0];
    window.kernel_w = kernel[1];
  } else {
    window.kernel_h = (*weights)[1];
    window.kernel_w = (*weights)[2];
  }
  if (map.find("stride") != nullptr) {
    const auto stride = integers(map, "stride", 2, 1, kMaxWindow);
    window.stride_h = stride[0];
    window.stride_w = stride[1];
  }
  if (map.find("pads") != nullptr) {
    const auto pads = integers(map, "pads", 4, 0, kMaxWindow);
    window.pad_top = pads[0];
    window.pad_left = pads[1];
    window.pad_bottom = pads[2];
    window.pad_right = pads[3];
  }
  return window;
}

Requantization requantization_of(const YamlNode& map, const Value& output) {
  Requantization r;
  r.rounding = static_cast<RoundingMode>(choice_or(
      map, "rounding", kRoundingWords, static_cast<std::size_t>(RoundingMode::kHalfEven)));
  for (const YamlNode& shift : map.at("shifts").items()) {
    r.shifts.push_back(static_cast<std::uint8_t>(shift.integer(0, kMaxShift)));
  }
  r.lo = static_cast<std::int32_t>(integer_or(map, "lo", output.min(), output.max(), output.min()));
  r.hi = static_cast<std::int32_t>(integer_or(map, "hi", output.min(), output.max(), output.max()));
  return r;
}

// The operation's weights, whose rank the window depends on.
Tensor weights_of(const fs::path& folder, const YamlNode& map, std::size_t rank) {
  Tensor weights = tensor_of(folder, map, "weights");
  if (weights.shape.size() != rank) {
    map.at("weights").fail("has shape " + shape_text(weights.shape) + "; expected " +
                           (rank == 4 ? "[Cout, kernel_h, kernel_w, Cin]" : "[Cout, Cin]"));
  }
  return weights;
}

Operation operation_of(const fs::path& folder, const YamlNode& map, const Value& output) {
  switch (choice_or(map, "op", kOperationWords, kOperationWords.size())) {
    case 0: {
      map.require_keys({"name", "op", "kernel", "stride", "pads", "rounding", "shifts", "lo", "hi",
                        "weights", "bias", "zero_point", "scale_exponent", "scale", "ofmap"});
      Tensor weights = weights_of(folder, map, 4);
      const Window window = window_of(map, weights.shape);
      return Conv2d{window, std::move(weights), tensor_of(folder, map, "bias"),
                    requantization_of(map, output)};
    }
    case 1:
      map.require_keys({"name", "op", "rounding", "shifts", "lo", "hi", "weights", "bias",
                        "zero_point", "scale_exponent", "scale", "ofmap"});
      return FullyConnected{weights_of(folder, map, 2), tensor_of(folder, map, "bias"),
                            requantization_of(map, output)};
    case 2:
      map.require_keys({"name", "op", "kernel", "stride", "pads", "zero_point", "scale_exponent",
                        "scale", "ofmap"});
      return MaxPool{window_of(map, std::nullopt)};
    case 3:
      map.require_keys({"name", "op", "zero_point", "scale_exponent", "scale", "ofmap"});
      return Relu{};
    case 4:
      map.require_keys({"name", "op", "order", "zero_point", "scale_exponent", "scale", "ofmap"});
      return Flatten{static_cast<Flatten::Order>(choice_or(map, "order", kFlattenOrderWords, 0))};
    default:
      map.fail("the key 'op' is missing");
  }
}

HostInterface host_of(const YamlNode& root) {
  HostInterface host;
  const YamlNode* map = root.find("host");
  if (map == nullptr) return host;
  map->require_keys({"layout", "float_input", "float_output", "flat_output"});
  host.layout = static_cast<HostInterface::Layout>(choice_or(*map, "layout", kLayoutWords, 0));
  host.float_input = boolean_or(*map, "float_input", false);
  host.float_output = boolean_or(*map, "float_output", false);
  host.flat_output = boolean_or(*map, "flat_output", false);
  return host;
}

void check_schema(const YamlNode& root) {
  root.require_keys({"schema", "name", "input", "host", "layers"});
  const YamlNode& schema = root.at("schema");
  if (schema.text() != kLayerTraceSchema) {
    schema.fail("found '" + echoed(schema.text()) + "'; expected " +
                std::string(kLayerTraceSchema));
  }
}

// It is written last, so that a trace whose writing did not end is told from a whole one.
void require_whole(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error) || fs::exists(folder / kLayerTraceFile, error)) return;
  throw_bad_input(folder.string() + ": has no " + std::string(kLayerTraceFile) +
                  "; it is not a layer trace, or its writing was interrupted");
}

// Which file trace.yaml is, and as of when.
using Stamp = std::array<std::int64_t, 5>;

Stamp stamp_of(const fs::path& folder) {
  struct stat status {};
  if (::stat((folder / kLayerTraceFile).c_str(), &status) != 0) return {};
  return {static_cast<std::int64_t>(status.st_dev), static_cast<std::int64_t>(status.st_ino),
          status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

// A run that writes the trace anew removes trace.yaml first: where it is still the same, so were
// the tensors.
void require_unchanged(const fs::path& folder, const Stamp& before) {
  if (stamp_of(folder) == before) return;
  throw_bad_input(
      folder.string() +
      ": the layer trace was changed while it was read; run qsim again when nothing writes to it");
}

}  // namespace

LayerTrace read_layer_trace(const fs::path& folder) {
  require_whole(folder);
  const Stamp before = stamp_of(folder);
  const YamlNode root = load_yaml(folder / kLayerTraceFile, kMaxTraceYamlBytes);
  check_schema(root);
  LayerTrace trace;
  trace.graph.name = text_or(root, "name", folder.filename().string());
  const YamlNode& input = root.at("input");
  input.require_keys({"file", "zero_point", "scale_exponent", "scale"});
  trace.input = activation_of(folder, input, "file");
  trace.graph.input_value() = value_of(input, trace.input);
  trace.graph.host = host_of(root);
  for (const YamlNode& map : root.at("layers").items()) {
    const std::string& name = map.at("name").text();
    trace.ofmaps.push_back(activation_of(folder, map, "ofmap"));
    const Value output = value_of(map, trace.ofmaps.back());
    append(trace.graph, name, operation_of(folder, map, output), output,
           map.where() + ": " + layer_place(name));
  }
  require_unchanged(folder, before);
  try {
    validate(trace.graph);
  } catch (const Error& error) {
    const std::string file = (folder / kLayerTraceFile).string();
    const std::string what = error.what();
    throw Error(error.code(), what.starts_with(file + ":") ? what : file + ": " + what);
  }
  return trace;
}

}  // namespace qsim
