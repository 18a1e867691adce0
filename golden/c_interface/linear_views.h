// The checked tensors of a linear layer, which the CPU and a GPU compute with.
#pragma once

#include <optional>

#include "golden/c_interface/tensor_view.h"
#include "golden/linear/linear.h"

namespace qsim::golden::c_interface {

struct LinearViews {
  View values;
  View scales;
  std::optional<View> zero_points;
  std::optional<View> bias;
  std::int64_t group_size;
};

inline FloatType float_type(std::int32_t dtype) {
  if (dtype == QSIM_FLOAT32) return FloatType::kFloat32;
  return dtype == QSIM_FLOAT16 ? FloatType::kFloat16 : FloatType::kBfloat16;
}

// Enqueues the layer on the call's stream. All tensors are on a GPU and fit each other. Throws
// Error for tensors with gaps.
void linear_on_device(const Call& call, const LinearViews& views, const View& x, const View& y);

}  // namespace qsim::golden::c_interface
