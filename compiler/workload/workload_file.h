// What a workload file says, layer by layer, before shapes are known and tensors are made.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/graph.h"
#include "files/yaml.h"

namespace qsim {

enum class LayerKind : std::uint8_t { kConv2d, kFullyConnected, kMaxPool, kRelu, kFlatten };

struct LayerSpec {
  YamlNode node;  // for the position in errors
  std::string name;
  LayerKind kind = LayerKind::kConv2d;
  std::int64_t out_channels = 0;  // or out_features
  Window window;
  bool ceil_mode = false;
  bool relu = false;
  RoundingMode rounding = RoundingMode::kHalfEven;
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
  Value input;
  std::vector<LayerSpec> layers;
};

WorkloadSpec read_workload_file(const std::filesystem::path& path);

}  // namespace qsim
