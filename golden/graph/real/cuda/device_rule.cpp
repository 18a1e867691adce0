#include "golden/graph/real/cuda/device_rule.h"

namespace qsim::golden::cuda {
namespace {

using AnyRule = std::variant<DeviceLevels, FloatRule, Log2Rule>;

struct MakeRule {
  AnyRule operator()(const UniformRule& rule) const { return DeviceLevels(rule); }
  AnyRule operator()(const DynamicRule& rule) const { return DeviceLevels(rule); }
  AnyRule operator()(const FloatRule& rule) const { return rule; }
  AnyRule operator()(const Log2Rule& rule) const { return rule; }
};

struct LaunchRule {
  float* values;
  std::int64_t pictures;
  std::int64_t elems;
  cudaStream_t stream;

  void operator()(const DeviceLevels& levels) const {
    levels.find(values, pictures, elems, stream);
    launch_uniform_rule(values, values, pictures * elems, levels.rules(),
                        levels.values_per_rule(pictures, elems), stream);
  }
  void operator()(const FloatRule& rule) const {
    launch_float_rule(rule, values, pictures * elems, stream);
  }
  void operator()(const Log2Rule& rule) const {
    launch_log2_rule(rule, values, pictures * elems, stream);
  }
};

}  // namespace

DeviceLevels::DeviceLevels(const InputRule& rule) : rule_(rule) {
  const auto* uniform = std::get_if<UniformRule>(&rule);
  if (uniform == nullptr) return;
  rules_ = upload(
      std::vector<LevelRule>{{uniform->scale, static_cast<float>(uniform->lo - uniform->zero_point),
                              static_cast<float>(uniform->hi - uniform->zero_point)}});
}

bool DeviceLevels::is_per_picture() const {
  const auto* dynamic = std::get_if<DynamicRule>(&rule_);
  return dynamic != nullptr && dynamic->per_picture;
}

void DeviceLevels::reserve(std::int64_t pictures) {
  if (std::holds_alternative<UniformRule>(rule_)) return;
  const auto count = static_cast<std::size_t>(pictures);
  ranges_ = poisoned(count * sizeof(float2));
  rules_ = poisoned(count * sizeof(LevelRule));
}

void DeviceLevels::find(const float* values, std::int64_t pictures, std::int64_t elems,
                        cudaStream_t stream) const {
  const auto* dynamic = std::get_if<DynamicRule>(&rule_);
  if (dynamic == nullptr) return;
  launch_dynamic_rules(*dynamic, values, pictures, elems, ranges_.as<float2>(),
                       rules_.as<LevelRule>(), stream);
}

DeviceRule::DeviceRule(const TensorRule& rule) : rule_(std::visit(MakeRule{}, rule)) {}

void DeviceRule::reserve(std::int64_t pictures) {
  if (auto* levels = std::get_if<DeviceLevels>(&rule_)) levels->reserve(pictures);
}

void DeviceRule::launch(float* values, std::int64_t pictures, std::int64_t elems,
                        cudaStream_t stream) const {
  std::visit(LaunchRule{values, pictures, elems, stream}, rule_);
}

}  // namespace qsim::golden::cuda
