// A rule of a tensor, ready to be applied on the device.
#pragma once

#include <cstdint>
#include <variant>

#include "golden/device/device_buffer.h"
#include "golden/graph/real/cuda/kernels/real_kernels.h"
#include "golden/graph/real/layer_weights.h"

namespace qsim::golden::cuda {

// What a UniformRule or DynamicRule is for some values: LevelRules in device memory.
class DeviceLevels {
 public:
  explicit DeviceLevels(const InputRule& rule);

  // One LevelRule a picture; else one for all of them.
  bool is_per_picture() const;
  const LevelRule* rules() const { return rules_.as<LevelRule>(); }

  // Takes memory for runs of so many pictures.
  void reserve(std::int64_t pictures);
  // Enqueues what finds the rules of these values; nothing for a UniformRule.
  void find(const float* values, std::int64_t pictures, std::int64_t elems,
            cudaStream_t stream) const;
  // Values in a row that have the same rule.
  std::int64_t values_per_rule(std::int64_t pictures, std::int64_t elems) const {
    return is_per_picture() ? elems : pictures * elems;
  }

 private:
  InputRule rule_;
  DeviceBuffer rules_;
  DeviceBuffer ranges_;  // of a DynamicRule
};

class DeviceRule {
 public:
  explicit DeviceRule(const TensorRule& rule);

  void reserve(std::int64_t pictures);
  // Enqueues the rule for `pictures` pictures of `elems` values, in place.
  void launch(float* values, std::int64_t pictures, std::int64_t elems, cudaStream_t stream) const;

 private:
  std::variant<DeviceLevels, FloatRule, Log2Rule> rule_;
};

}  // namespace qsim::golden::cuda
