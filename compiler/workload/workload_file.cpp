#include "compiler/workload/workload_file.h"

#include <array>

#include "core/limits.h"
#include "files/graph_words.h"

namespace qsim {
namespace {

constexpr std::int64_t kMaxKernel = 64;
constexpr std::array<std::string_view, 5> kDefaultNames = {"conv", "fc", "pool", "relu", "flatten"};

// n, or [h, w].
std::array<std::int64_t, 2> pair_of(const YamlNode& node, std::int64_t min) {
  if (node.kind() == YamlNode::Kind::kScalar) {
    const std::int64_t both = node.integer(min, kMaxKernel);
    return {both, both};
  }
  const std::vector<YamlNode>& items = node.items();
  if (items.size() != 2) {
    node.fail("found a list of " + std::to_string(items.size()) + "; expected n or [h, w]");
  }
  return {items[0].integer(min, kMaxKernel), items[1].integer(min, kMaxKernel)};
}

// n, [h, w] or [top, left, bottom, right].
void read_pads(const YamlNode& node, Window& window) {
  std::array<std::int64_t, 4> pads{};
  if (node.kind() == YamlNode::Kind::kList && node.items().size() == 4) {
    for (std::size_t i = 0; i < 4; ++i) pads[i] = node.items()[i].integer(0, kMaxKernel);
  } else if (node.kind() == YamlNode::Kind::kList && node.items().size() != 2) {
    node.fail("found a list of " + std::to_string(node.items().size()) +
              "; expected n, [h, w] or [top, left, bottom, right]");
  } else {
    const auto [h, w] = pair_of(node, 0);
    pads = {h, w, h, w};
  }
  window.pad_top = pads[0];
  window.pad_left = pads[1];
  window.pad_bottom = pads[2];
  window.pad_right = pads[3];
}

// The stride is the kernel's size where a pooling layer gives none, and 1 for a convolution.
Window read_window(const YamlNode& map, bool stride_is_kernel) {
  Window window;
  const auto kernel = pair_of(map.at("kernel"), 1);
  window.kernel_h = kernel[0];
  window.kernel_w = kernel[1];
  const YamlNode* stride_node = map.find("stride");
  if (stride_node != nullptr || stride_is_kernel) {
    const auto stride = stride_node != nullptr ? pair_of(*stride_node, 1) : kernel;
    window.stride_h = stride[0];
    window.stride_w = stride[1];
  }
  if (const YamlNode* pad = map.find("pad")) read_pads(*pad, window);
  return window;
}

DType dtype_at(const YamlNode& map, std::size_t otherwise) {
  return choice_or(map, "dtype", kActivationDTypeWords, otherwise) == 1 ? DType::kUint8
                                                                        : DType::kInt8;
}

// The range is checked again once the dtype is known.
void read_ofmap(const YamlNode& map, LayerSpec& spec) {
  spec.relu = boolean_or(map, "relu", false);
  spec.rounding = static_cast<RoundingMode>(choice_or(
      map, "rounding", kRoundingWords, static_cast<std::size_t>(RoundingMode::kHalfEven)));
  spec.per_channel_shift = boolean_or(map, "per_channel_shift", false);
  if (const YamlNode* shift = map.find("shift")) {
    spec.shift = static_cast<int>(shift->integer(0, kMaxShift));
    if (spec.per_channel_shift) {
      shift->fail("shift and per_channel_shift exclude each other; give one of them");
    }
  }
  if (const YamlNode* bias_mean = map.find("bias_mean")) spec.bias_mean = bias_mean->number();
  if (map.find("dtype") != nullptr) spec.dtype = dtype_at(map, 0);
  if (const YamlNode* zero_point = map.find("zero_point")) {
    spec.zero_point = static_cast<std::int32_t>(zero_point->integer(-128, 255));
  }
}

LayerSpec read_layer(const YamlNode& map) {
  LayerSpec spec;
  spec.node = map;
  map.at("op");
  const std::size_t op = choice_or(map, "op", kOperationWords, 0);
  spec.kind = static_cast<LayerKind>(op);
  spec.name = text_or(map, "name", "");
  switch (spec.kind) {
    case LayerKind::kConv2d:
      map.require_keys({"op", "name", "out_channels", "kernel", "stride", "pad", "relu", "rounding",
                        "per_channel_shift", "shift", "bias_mean", "dtype", "zero_point"});
      spec.out_channels = map.at("out_channels").integer(1, kMaxWorkloadDim);
      spec.window = read_window(map, false);
      read_ofmap(map, spec);
      break;
    case LayerKind::kFullyConnected:
      map.require_keys({"op", "name", "out_features", "relu", "rounding", "per_channel_shift",
                        "shift", "bias_mean", "dtype", "zero_point"});
      spec.out_channels = map.at("out_features").integer(1, kMaxWorkloadDim);
      read_ofmap(map, spec);
      break;
    case LayerKind::kMaxPool:
      map.require_keys({"op", "name", "kernel", "stride", "pad", "ceil_mode"});
      spec.window = read_window(map, true);
      spec.ceil_mode = boolean_or(map, "ceil_mode", false);
      break;
    case LayerKind::kRelu:
      map.require_keys({"op", "name"});
      break;
    case LayerKind::kFlatten:
      map.require_keys({"op", "name", "order"});
      spec.order = static_cast<Flatten::Order>(choice_or(map, "order", kFlattenOrderWords, 0));
      break;
  }
  return spec;
}

Value read_input(const YamlNode& map) {
  map.require_keys({"shape", "dtype", "zero_point"});
  const std::vector<std::int64_t> shape = integers(map, "shape", 4, 1, kMaxWorkloadDim);
  Value value;
  value.shape = {shape[0], shape[1], shape[2], shape[3]};
  value.dtype = dtype_at(map, 0);
  value.zero_point =
      static_cast<std::int32_t>(integer_or(map, "zero_point", value.min(), value.max(), 0));
  return value;
}

}  // namespace

WorkloadSpec read_workload_file(const std::filesystem::path& path) {
  const YamlNode root = load_yaml(path);
  root.require_keys({"name", "seed", "input", "layers"});
  WorkloadSpec spec;
  spec.name = text_or(root, "name", path.stem().string());
  spec.seed = static_cast<std::uint64_t>(integer_or(root, "seed", 0, INT64_MAX, 1));
  spec.input = read_input(root.at("input"));
  const YamlNode& layers = root.at("layers");
  if (layers.items().empty() || static_cast<std::int64_t>(layers.items().size()) > kMaxLayers) {
    layers.fail(std::to_string(layers.items().size()) + " layers; allowed: 1 to " +
                std::to_string(kMaxLayers));
  }
  std::array<int, kDefaultNames.size()> counts{};
  for (const YamlNode& map : layers.items()) {
    spec.layers.push_back(read_layer(map));
    LayerSpec& layer = spec.layers.back();
    const auto kind = static_cast<std::size_t>(layer.kind);
    ++counts[kind];
    if (layer.name.empty()) {
      layer.name = std::string(kDefaultNames[kind]) + std::to_string(counts[kind]);
    }
  }
  return spec;
}

}  // namespace qsim
