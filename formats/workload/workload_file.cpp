#include "formats/workload/workload_file.h"

#include <array>
#include <span>

#include "core/base/limits.h"
#include "core/machine/arch_config.h"
#include "formats/settings/graph_words.h"

namespace qsim::formats {
namespace {

constexpr std::int64_t kMaxKernel = 64;
constexpr std::array<std::string_view, 8> kDefaultNames = {"conv",    "fc",      "pool", "relu",
                                                           "flatten", "avgpool", "add",  "concat"};
// A lookup table is no shape.
constexpr std::span<const std::string_view> kWorkloadOperationWords(kOperationWords.data(),
                                                                    kDefaultNames.size());

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
  if (const YamlNode* dilation = map.find("dilation")) {
    const auto distances = pair_of(*dilation, 1);
    window.dilation_h = distances[0];
    window.dilation_w = distances[1];
  }
  return window;
}

DType dtype_at(const YamlNode& map, std::size_t otherwise) {
  return choice_or(map, "dtype", kActivationDTypeWords, otherwise) == 1 ? DType::kUint8
                                                                        : DType::kInt8;
}

void read_rounding(const YamlNode& map, bool is_dyadic, LayerSpec& spec) {
  if (is_dyadic) {
    spec.scale_rounding = static_cast<RequantizerRounding>(
        choice_or(map, "rounding", kRequantizerRoundingWords,
                  static_cast<std::size_t>(RequantizerRounding::kFloat32)));
  } else {
    spec.rounding = static_cast<RoundingMode>(choice_or(
        map, "rounding", kRoundingWords, static_cast<std::size_t>(RoundingMode::kHalfEven)));
  }
}

// The range of the zero_point is checked again once the dtype is known.
void read_ofmap(const YamlNode& map, bool is_dyadic, LayerSpec& spec) {
  spec.relu = boolean_or(map, "relu", false);
  read_rounding(map, is_dyadic, spec);
  if (map.find("dtype") != nullptr) spec.dtype = dtype_at(map, 0);
  if (const YamlNode* zero_point = map.find("zero_point")) {
    spec.zero_point = static_cast<std::int32_t>(zero_point->integer(-128, 255));
  }
}

void read_shift(const YamlNode& map, bool is_dyadic, LayerSpec& spec) {
  spec.per_channel_shift = boolean_or(map, "per_channel_shift", false);
  if (const YamlNode* shift = map.find("shift")) {
    spec.shift = static_cast<int>(shift->integer(0, kMaxShift));
    if (is_dyadic) {
      shift->fail("a workload with 'requantizer: dyadic' has no shifts; leave it out");
    }
    if (spec.per_channel_shift) {
      shift->fail("shift and per_channel_shift exclude each other; give one of them");
    }
  }
  if (const YamlNode* bias_mean = map.find("bias_mean")) spec.bias_mean = bias_mean->number();
}

// The keys of every layer, and those of an operation.
void require_layer_keys(const YamlNode& map, std::initializer_list<std::string_view> own) {
  std::vector<std::string_view> keys = {"op", "name", "inputs"};
  keys.insert(keys.end(), own);
  map.require_keys(keys);
}

// Of the operations whose numbers follow from scales.
void require_scales(const YamlNode& map, bool is_dyadic) {
  if (is_dyadic) return;
  map.fail("op " + map.at("op").text() +
           " needs tensors with scales; give the file 'requantizer: dyadic'");
}

void read_operation(const YamlNode& map, bool is_dyadic, LayerSpec& spec) {
  switch (spec.kind) {
    case LayerKind::kConv2d:
      require_layer_keys(
          map, {"out_channels", "kernel", "stride", "pad", "dilation", "groups", "relu", "rounding",
                "per_channel_shift", "shift", "bias_mean", "dtype", "zero_point"});
      spec.out_channels = map.at("out_channels").integer(1, kMaxWorkloadDim);
      spec.window = read_window(map, false);
      spec.groups = integer_or(map, "groups", 1, kMaxWorkloadDim, 1);
      read_ofmap(map, is_dyadic, spec);
      return read_shift(map, is_dyadic, spec);
    case LayerKind::kFullyConnected:
      require_layer_keys(map, {"out_features", "relu", "rounding", "per_channel_shift", "shift",
                               "bias_mean", "dtype", "zero_point"});
      spec.out_channels = map.at("out_features").integer(1, kMaxWorkloadDim);
      read_ofmap(map, is_dyadic, spec);
      return read_shift(map, is_dyadic, spec);
    case LayerKind::kMaxPool:
      require_layer_keys(map, {"kernel", "stride", "pad", "dilation", "ceil_mode"});
      spec.window = read_window(map, true);
      spec.ceil_mode = boolean_or(map, "ceil_mode", false);
      return;
    case LayerKind::kRelu:
    case LayerKind::kConcat:
      return require_layer_keys(map, {});
    case LayerKind::kFlatten:
      require_layer_keys(map, {"order"});
      spec.order = static_cast<Flatten::Order>(choice_or(map, "order", kFlattenOrderWords, 0));
      return;
    case LayerKind::kAveragePool:
      require_layer_keys(map, {"kernel", "stride", "pad", "ceil_mode", "count_include_pad", "relu",
                               "rounding", "dtype", "zero_point"});
      require_scales(map, is_dyadic);
      spec.window = read_window(map, true);
      spec.ceil_mode = boolean_or(map, "ceil_mode", false);
      spec.count_include_pad = boolean_or(map, "count_include_pad", false);
      return read_ofmap(map, is_dyadic, spec);
    case LayerKind::kAdd:
      require_layer_keys(map, {"relu", "rounding", "dtype", "zero_point"});
      require_scales(map, is_dyadic);
      return read_ofmap(map, is_dyadic, spec);
  }
}

LayerSpec read_layer(const YamlNode& map, bool is_dyadic) {
  LayerSpec spec;
  spec.node = map;
  map.at("op");
  spec.kind = static_cast<LayerKind>(choice_or(map, "op", kWorkloadOperationWords, 0));
  spec.name = text_or(map, "name", "");
  if (const YamlNode* inputs = map.find("inputs")) {
    for (const YamlNode& input : inputs->items()) spec.inputs.push_back(input.text());
    if (spec.inputs.empty()) inputs->fail("the list is empty; name what the layer reads");
  }
  read_operation(map, is_dyadic, spec);
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
  root.require_keys({"name", "seed", "requantizer", "input", "layers"});
  WorkloadSpec spec;
  spec.name = text_or(root, "name", path.stem().string());
  spec.seed = static_cast<std::uint64_t>(integer_or(root, "seed", 0, INT64_MAX, 1));
  spec.is_dyadic = choice_or(root, "requantizer", kRequantizerWords, 0) == 1;
  spec.input = read_input(root.at("input"));
  if (spec.is_dyadic) spec.input.scale = Scale::of(kWorkloadScale);
  const YamlNode& layers = root.at("layers");
  if (layers.items().empty() || static_cast<std::int64_t>(layers.items().size()) > kMaxLayers) {
    layers.fail(std::to_string(layers.items().size()) + " layers; allowed: 1 to " +
                std::to_string(kMaxLayers));
  }
  std::array<int, kDefaultNames.size()> counts{};
  for (const YamlNode& map : layers.items()) {
    spec.layers.push_back(read_layer(map, spec.is_dyadic));
    LayerSpec& layer = spec.layers.back();
    const auto kind = static_cast<std::size_t>(layer.kind);
    ++counts[kind];
    if (layer.name.empty()) {
      layer.name = std::string(kDefaultNames[kind]) + std::to_string(counts[kind]);
    }
  }
  return spec;
}

}  // namespace qsim::formats
