#include "files/layer_trace_operation.h"

#include <charconv>
#include <optional>

#include "core/printable.h"
#include "files/graph_words.h"
#include "files/npy.h"

namespace qsim {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMaxWindow = 1 << 20;

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

}  // namespace

Tensor trace_tensor(const fs::path& folder, const YamlNode& map, std::string_view key) {
  const YamlNode& node = map.at(key);
  const fs::path name = node.text();
  if (name.empty() || name != name.filename()) {
    node.fail("found '" + echoed(node.text()) +
              "'; expected the name of a file in the same folder");
  }
  return read_npy(folder / name);
}

Scale trace_scale(const YamlNode& node) {
  node.number();
  const std::string& text = node.text();
  float value = 0;  // read from the text at once: by way of a double it could be rounded twice
  std::from_chars(text.data() + (text.starts_with('+') ? 1 : 0), text.data() + text.size(), value);
  const auto scale = Scale::of(value);
  if (!scale) node.fail("found '" + echoed(text) + "'; expected a positive float32");
  return *scale;
}

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

}  // namespace qsim
