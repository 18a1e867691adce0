// Reads layer traces; layer_trace_writer.cpp is its inverse.

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>
#include <type_traits>

#include <sys/stat.h>

#include "core/base/printable.h"
#include "core/network/graph.h"
#include "formats/files/files.h"
#include "formats/settings/graph_words.h"
#include "formats/text/yaml.h"
#include "formats/traces/layer_trace.h"
#include "formats/traces/npy.h"

namespace qsim::formats {
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

void read_pair(const YamlNode& map, std::string_view key, std::int64_t& first,
               std::int64_t& second) {
  if (map.find(key) == nullptr) return;
  const auto pair = integers(map, key, 2, 1, kMaxWindow);
  first = pair[0];
  second = pair[1];
}

RequantizerRounding rounding_of(const YamlNode& map) {
  return static_cast<RequantizerRounding>(
      choice_or(map, "rounding", kRequantizerRoundingWords,
                static_cast<std::size_t>(RequantizerRounding::kFloat32)));
}

// A scale as the nearest float32. TensorFlow Lite's roundings split a double, and have 0.
Requantizer trace_requantizer(const YamlNode& node, RequantizerRounding rounding) {
  if (!is_tflite(rounding)) return requantizer_of(trace_scale(node), rounding);
  const double scale = node.number();
  if (!(scale >= 0)) node.fail("the scale is negative; allowed: 0 or more");
  return tflite_requantizer(scale, rounding);
}

// The keys that an attribute takes in an entry of `layers`.
void add_keys(std::vector<std::string_view>& keys, std::string_view, const Window&) {
  keys.insert(keys.end(), {"kernel", "stride", "pads", "dilation"});
}
void add_keys(std::vector<std::string_view>& keys, std::string_view, const Requantization&) {
  keys.insert(keys.end(), {"rounding", "shifts", "scales", "lo", "hi"});
}
template <typename Attribute>
void add_keys(std::vector<std::string_view>& keys, std::string_view key, const Attribute&) {
  keys.push_back(key);
}

// Reads the attributes of one operation from `map`, its entry of `layers`; its ofmap is `output`.
class AttributeReader {
 public:
  AttributeReader(const fs::path& folder, const YamlNode& map, const Value& output)
      : folder_(folder), map_(map), output_(output) {}

  // Refuses keys that the operation does not have. Throws Error with file:line:column.
  template <typename Op>
  void operator()(Op& operation) const {
    std::vector<std::string_view> keys = {"name",           "op",    "inputs", "zero_point",
                                          "scale_exponent", "scale", "ofmap"};
    Op::attributes(operation,
                   [&](std::string_view key, const auto& value) { add_keys(keys, key, value); });
    map_.require_keys(keys);
    if constexpr (requires { operation.weights; }) read_weights(operation);
    Op::attributes(operation, [&](std::string_view key, auto& value) { read(key, value); });
  }

 private:
  // Before the window, whose kernel is theirs where the file gives none.
  template <typename Op>
  void read_weights(Op& operation) const {
    constexpr bool kHasWindow = !std::is_same_v<Op, FullyConnected>;
    operation.weights = trace_tensor(folder_, map_, "weights");
    const Shape& shape = operation.weights.shape;
    if (shape.size() != (kHasWindow ? 4 : 2)) {
      map_.at("weights").fail("has shape " + shape_text(shape) + "; expected " +
                              (kHasWindow ? "[Cout, kernel_h, kernel_w, Cin]" : "[Cout, Cin]"));
    }
    if constexpr (kHasWindow) {
      operation.window.kernel_h = shape[1];
      operation.window.kernel_w = shape[2];
    }
  }

  void read(std::string_view key, Tensor& tensor) const {
    if (key != "weights") tensor = trace_tensor(folder_, map_, key);
  }

  void read(std::string_view, Window& window) const {
    if (map_.find("weights") == nullptr) map_.at("kernel");
    read_pair(map_, "kernel", window.kernel_h, window.kernel_w);
    read_pair(map_, "stride", window.stride_h, window.stride_w);
    read_pair(map_, "dilation", window.dilation_h, window.dilation_w);
    if (map_.find("pads") == nullptr) return;
    const auto pads = integers(map_, "pads", 4, 0, kMaxWindow);
    window.pad_top = pads[0];
    window.pad_left = pads[1];
    window.pad_bottom = pads[2];
    window.pad_right = pads[3];
  }

  // `shifts`, or `scales`.
  void read(std::string_view, Requantization& r) const {
    read("lo", r.lo);
    read("hi", r.hi);
    if (const YamlNode* scales = map_.find("scales")) {
      if (map_.find("shifts") != nullptr) {
        scales->fail("'scales' beside 'shifts'; give one of them");
      }
      const RequantizerRounding rounding = rounding_of(map_);
      for (const YamlNode& scale : scales->items()) {
        r.requantizers.push_back(trace_requantizer(scale, rounding));
      }
      if (!r.requantizers.empty()) return;
      scales->fail("the list is empty; give one scale, or one a channel");
    }
    r.rounding = static_cast<RoundingMode>(choice_or(
        map_, "rounding", kRoundingWords, static_cast<std::size_t>(RoundingMode::kHalfEven)));
    for (const YamlNode& shift : map_.at("shifts").items()) {
      r.shifts.push_back(static_cast<std::uint8_t>(shift.integer(0, kMaxShift)));
    }
  }

  void read(std::string_view, RequantizerRounding& rounding) const { rounding = rounding_of(map_); }
  // lo or hi: the end of the ofmap's range where the file gives none.
  void read(std::string_view key, std::int32_t& bound) const {
    const std::int32_t min = output_.min();
    const std::int32_t max = output_.max();
    bound = static_cast<std::int32_t>(integer_or(map_, key, min, max, key == "lo" ? min : max));
  }
  void read(std::string_view key, std::int64_t& count) const {
    count = integer_or(map_, key, 1, kMaxWindow, count);
  }
  void read(std::string_view key, bool& flag) const { flag = boolean_or(map_, key, flag); }
  void read(std::string_view key, std::string& text) const { text = text_or(map_, key, text); }
  void read(std::string_view key, Flatten::Order& order) const {
    order = static_cast<Flatten::Order>(choice_or(map_, key, kFlattenOrderWords, 0));
  }
  void read(std::string_view key, std::array<std::uint8_t, 256>& table) const {
    const auto bytes = integers(map_, key, table.size(), 0, 255);
    std::ranges::transform(bytes, table.begin(),
                           [](std::int64_t byte) { return static_cast<std::uint8_t>(byte); });
  }
  // Reals have no layer trace.
  void read(std::string_view, Activation::Kind&) const {}
  void read(std::string_view, float&) const {}

  const fs::path& folder_;
  const YamlNode& map_;
  const Value& output_;
};

// What `map`, an entry of `layers`, computes; its ofmap is `output`.
Operation trace_operation(const fs::path& folder, const YamlNode& map, const Value& output) {
  map.at("op");
  Operation operation = operation_called(kOperationWords[choice_or(map, "op", kOperationWords, 0)]);
  std::visit(AttributeReader(folder, map, output), operation);
  return operation;
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

}  // namespace qsim::formats
