// The checked tensors of a linear layer, which the CPU and a GPU compute with.
#pragma once

#include <optional>

#include "golden/c_interface/tensor_view.h"
#include "golden/kernels/linear/int8_activations.h"
#include "golden/kernels/linear/linear.h"

namespace qsim::golden::c_interface {

inline constexpr std::initializer_list<std::int32_t> kFloats = {QSIM_FLOAT32, QSIM_FLOAT16,
                                                                QSIM_BFLOAT16};

struct LinearViews {
  View values;
  View scales;
  std::optional<View> zero_points;
  std::optional<View> bias;
  std::int64_t group_size;
};

struct QuantizerViews {
  View w;
  View values;
  View scales;
  std::optional<View> zero_points;
  std::int64_t group_size;
};

inline FloatType float_type(std::int32_t dtype) {
  if (dtype == QSIM_FLOAT32) return FloatType::kFloat32;
  return dtype == QSIM_FLOAT16 ? FloatType::kFloat16 : FloatType::kBfloat16;
}

// Groups of a row. Throws Error for a group_size that linear layers do not have.
std::int64_t group_count(const Call& call, std::int64_t in_features, std::int64_t group_size);
// Views scales or zero_points: [N, groups], or [N] for one group.
View grouped_tensor(Call& call, const char* what, const qsim_tensor* tensor, std::int32_t type,
                    std::int64_t channels, std::int64_t groups);
// The elements of a matrix of floats on the CPU.
FloatMatrix matrix_of(const View& view);

// Enqueues the layer on the call's stream. All tensors are on a GPU and fit each other. Throws
// Error for tensors with gaps.
void linear_on_device(const Call& call, const LinearViews& views, const View& x, const View& y);
// The same with x quantized to int8, in the workspace.
void int8_linear_on_device(const Call& call, const LinearViews& views,
                           const Int8Activations& activations, const View& x, const View& y);
// The quantizers of weights, of which w alone may have gaps.
void quantize_weights_on_device(const Call& call, const QuantizerViews& views);

}  // namespace qsim::golden::c_interface
