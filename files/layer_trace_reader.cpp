// Reads layer traces; layer_trace_writer.cpp is its inverse.

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>

#include <sys/stat.h>

#include "core/graph.h"
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

// The `.npy` file in `folder` that `key` names.
Tensor trace_tensor(const fs::path& folder, const YamlNode& map, std::string_view key) {
  const YamlNode& node = map.at(key);
  const fs::path name = node.text();
  if (name.empty() || name != name.filename()) {
    node.fail("found '" + echoed(node.text()) +
              "'; expected the name of a file in the same folder");
  }
  return read_npy(folder / name);
}

// The float32 that a number in the file means. Throws Error where it is not positive and finite.
Scale trace_scale(const YamlNode& node) {
  node.number();
  const std::string& text = node.text();
  float value = 0;  // read from the text at once: by way of a double it could be rounded twice
  std::from_chars(text.data() + (text.starts_with('+') ? 1 : 0), text.data() + text.size(), value);
  const auto scale = Scale::of(value);
  if (!scale) node.fail("found '" + echoed(text) + "'; expected a positive float32");
  return *scale;
}

// The keys of every layer, and those of an operation.
void require_layer_keys(const YamlNode& map, std::initializer_list<std::string_view> own) {
  std::vector<std::string_view> keys = {"name",           "op",    "inputs", "zero_point",
                                        "scale_exponent", "scale", "ofmap"};
  keys.insert(keys.end(), own);
  map.require_keys(keys);
}

void read_pair(const YamlNode& map, std::string_view key, std::int64_t& first,
               std::int64_t& second) {
  if (map.find(key) == nullptr) return;
  const auto pair = integers(map, key, 2, 1, kMaxWindow);
  first = pair[0];
  second = pair[1];
}

Window window_of(const YamlNode& map, const std::optional<Shape>& weights) {
  Window window;
  if (weights) {
    window.kernel_h = (*weights)[1];
    window.kernel_w = (*weights)[2];
  } else {
    map.at("kernel");
  }
  read_pair(map, "kernel", window.kernel_h, window.kernel_w);
  read_pair(map, "stride", window.stride_h, window.stride_w);
  read_pair(map, "dilation", window.dilation_h, window.dilation_w);
  if (map.find("pads") != nullptr) {
    const auto pads = integers(map, "pads", 4, 0, kMaxWindow);
    window.pad_top = pads[0];
    window.pad_left = pads[1];
    window.pad_bottom = pads[2];
    window.pad_right = pads[3];
  }
  return window;
}

RequantizerRounding rounding_of(const YamlNode& map) {
  return static_cast<RequantizerRounding>(
      choice_or(map, "rounding", kRequantizerRoundingWords,
                static_cast<std::size_t>(RequantizerRounding::kFloat32)));
}

void read_clamps(const YamlNode& map, const Value& output, std::int32_t& lo, std::int32_t& hi) {
  const std::int32_t min = output.min();
  const std::int32_t max = output.max();
  lo = static_cast<std::int32_t>(integer_or(map, "lo", min, max, min));
  hi = static_cast<std::int32_t>(integer_or(map, "hi", min, max, max));
}

// A scale as the nearest float32. TensorFlow Lite's roundings split a double, and have 0.
Requantizer trace_requantizer(const YamlNode& node, RequantizerRounding rounding) {
  if (!is_tflite(rounding)) return requantizer_of(trace_scale(node), rounding);
  const double scale = node.number();
  if (!(scale >= 0)) node.fail("the scale is negative; allowed: 0 or more");
  return tflite_requantizer(scale, rounding);
}

// `shifts`, or `scales`.
Requantization requantization_of(const YamlNode& map, const Value& output) {
  Requantization r;
  read_clamps(map, output, r.lo, r.hi);
  if (const YamlNode* scales = map.find("scales")) {
    if (map.find("shifts") != nullptr) scales->fail("'scales' beside 'shifts'; give one of them");
    const RequantizerRounding rounding = rounding_of(map);
    for (const YamlNode& scale : scales->items()) {
      r.requantizers.push_back(trace_requantizer(scale, rounding));
    }
    if (r.requantizers.empty()) scales->fail("the list is empty; give one scale, or one a channel");
    return r;
  }
  r.rounding = static_cast<RoundingMode>(choice_or(
      map, "rounding", kRoundingWords, static_cast<std::size_t>(RoundingMode::kHalfEven)));
  for (const YamlNode& shift : map.at("shifts").items()) {
    r.shifts.push_back(static_cast<std::uint8_t>(shift.integer(0, kMaxShift)));
  }
  return r;
}

// The operation's weights, whose rank the window depends on.
Tensor weights_of(const fs::path& folder, const YamlNode& map, std::size_t rank) {
  Tensor weights = trace_tensor(folder, map, "weights");
  if (weights.shape.size() != rank) {
    map.at("weights").fail("has shape " + shape_text(weights.shape) + "; expected " +
                           (rank == 4 ? "[Cout, kernel_h, kernel_w, Cin]" : "[Cout, Cin]"));
  }
  return weights;
}

Operation conv2d_of(const fs::path& folder, const YamlNode& map, const Value& output) {
  require_layer_keys(map, {"kernel", "stride", "pads", "dilation", "groups", "rounding", "shifts",
                           "scales", "lo", "hi", "weights", "bias"});
  Tensor weights = weights_of(folder, map, 4);
  const Window window = window_of(map, weights.shape);
  return Conv2d{window, std::move(weights), trace_tensor(folder, map, "bias"),
                requantization_of(map, output), integer_or(map, "groups", 1, kMaxWindow, 1)};
}

Operation fully_connected_of(const fs::path& folder, const YamlNode& map, const Value& output) {
  require_layer_keys(map, {"rounding", "shifts", "scales", "lo", "hi", "weights", "bias"});
  return FullyConnected{weights_of(folder, map, 2), trace_tensor(folder, map, "bias"),
                        requantization_of(map, output)};
}

Operation average_pool_of(const YamlNode& map, const Value& output) {
  require_layer_keys(map,
                     {"kernel", "stride", "pads", "count_include_pad", "rounding", "lo", "hi"});
  AveragePool pool{window_of(map, std::nullopt), boolean_or(map, "count_include_pad", false),
                   rounding_of(map)};
  read_clamps(map, output, pool.lo, pool.hi);
  return pool;
}

Operation lookup_table_of(const YamlNode& map) {
  require_layer_keys(map, {"function", "table"});
  LookupTable table{text_or(map, "function", "")};
  const auto bytes = integers(map, "table", table.bytes.size(), 0, 255);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    table.bytes[i] = static_cast<std::uint8_t>(bytes[i]);
  }
  return table;
}

Operation add_of(const YamlNode& map, const Value& output) {
  require_layer_keys(map, {"rounding", "lo", "hi"});
  Add add{rounding_of(map)};
  read_clamps(map, output, add.lo, add.hi);
  return add;
}

// What `map`, an entry of `layers`, computes; its ofmap is `output`. Refuses keys that the
// operation does not have. Throws Error with file:line:column.
Operation trace_operation(const fs::path& folder, const YamlNode& map, const Value& output) {
  map.at("op");
  switch (choice_or(map, "op", kOperationWords, 0)) {
    case 0:
      return conv2d_of(folder, map, output);
    case 1:
      return fully_connected_of(folder, map, output);
    case 2:
      require_layer_keys(map, {"kernel", "stride", "pads", "dilation"});
      return MaxPool{window_of(map, std::nullopt)};
    case 3:
      require_layer_keys(map, {});
      return Relu{};
    case 4:
      require_layer_keys(map, {"order"});
      return Flatten{static_cast<Flatten::Order>(choice_or(map, "order", kFlattenOrderWords, 0))};
    case 5:
      return average_pool_of(map, output);
    case 6:
      return add_of(map, output);
    case 7:
      require_layer_keys(map, {});
      return Concat{};
    default:
      return lookup_table_of(map);
  }
}

// An activation: NHWC, or [N][C] for vectors, which become [N][1][1][C].
Tensor activation_of(const fs::path& folder, const YamlNode& map, std::string_view key) {
  Tensor tensor = trace_tensor(folder, map, key);
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
  return trace_scale(*real);
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

// The ids of a layer's operands: what `inputs` names, or the tensor before it.
std::vector<TensorId> inputs_of(const YamlNode& map, const Graph& graph) {
  const YamlNode* names = map.find("inputs");
  if (names == nullptr) return {graph.output};
  std::vector<TensorId> inputs;
  for (const YamlNode& node : names->items()) {
    const std::string& name = node.text();
    const auto layer = std::find_if(graph.layers.begin(), graph.layers.end(),
                                    [&](const Layer& other) { return other.name == name; });
    if (layer == graph.layers.end() && name != kInputName) {
      node.fail("found '" + echoed(name) +
                "'; expected 'input' or the name of a layer before this one");
    }
    inputs.push_back(layer == graph.layers.end() ? graph.input : layer->output);
  }
  return inputs;
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
    append(trace.graph, name, trace_operation(folder, map, output), inputs_of(map, trace.graph),
           output, map.where() + ": " + layer_place(name));
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
