// The weight-only linear layer as plain loops over wide integers, which read like the definition in
// docs/reference/kernels.md.
#pragma once

#include "golden/kernels/linear/linear.h"

namespace qsim::golden {

// y [M][N] = x [M][K] times the weights [N][K], plus bias [N] (FP32; empty: none), as `y_type`.
// Throws Error as check_shapes() does.
FloatMatrix reference_linear(const FloatMatrix& x, const LinearWeights& weights,
                             std::span<const float> bias, FloatType y_type);

// The same with x quantized to int8, and int8 weights with one scale an output channel (W8A8).
// Throws Error as check_shapes() and check_int8_activations() do.
FloatMatrix reference_linear_int8(const FloatMatrix& x, const Int8Activations& activations,
                                  const LinearWeights& weights, std::span<const float> bias,
                                  FloatType y_type);

}  // namespace qsim::golden
