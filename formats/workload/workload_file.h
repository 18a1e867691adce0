// What a workload file says, layer by layer, before shapes are known and tensors are made.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/network/graph.h"
#include "formats/text/yaml.h"

namespace qsim::formats {

// The operations of core/network/operations.h that a workload has, in their order.
enum class LayerKind : std::uint8_t {
  kConv2d,
  kFullyConnected,
  kMaxPool,
  kRelu,
  kFlatten,
  kAveragePool,
  kAdd,
  kConcat
};

// Of each tensor of a dyadic workload but of additions and averages, whose scales depend on the
// values that they read. It is no power of two.
inline constexpr float kWorkloadScale = 0.0217F;

struct LayerSpec {
  YamlNode node;  // for the position in errors
  std::string name;
  LayerKind kind = LayerKind::kConv2d;
  std::vector<std::string> inputs;  // empty: the layer before
  std::int64_t out_channels = 0;    // or out_features
  Window window;
  std::int64_t groups = 1;
  bool ceil_mode = false;
  bool count_include_pad = false;
  bool relu = false;
  RoundingMode rounding = RoundingMode::kHalfEven;                     // of shifts
  RequantizerRounding scale_rounding = RequantizerRounding::kFloat32;  // of scales
  bool per_channel_shift = false;
  std::optional<int> shift;
  std::optional<double> bias_mean;
  std::optional<DType> dtype;              // absent: the layer's input's
  std::optional<std::int32_t> zero_point;  // absent: 0
  Flatten::Order order = Flatten::Order::kChw;
};

struct WorkloadSpec {
  std::string name;
  std::uint64_t seed = 1;
  bool is_dyadic = false;  // tensors have scales, and layers requantizers instead of shifts
  Value input;
  std::vector<LayerSpec> layers;
};

WorkloadSpec read_workload_file(const std::filesystem::path& path);

}  // namespace qsim::formats
