// The definition of every layer as plain loops, one function a layer. Written to be read and
// checked by eye, not to be fast. Operands and `y` are float32 [N][H][W][C]; y has its shape.
#pragma once

#include "core/real_graph.h"
#include "core/tensor.h"

namespace qsim::golden {

void reference_conv2d(const RealConv2d& conv, const Tensor& x, Tensor& y);
void reference_linear(const RealLinear& linear, const Tensor& x, Tensor& y);
void reference_max_pool(const RealMaxPool& pool, const Tensor& x, Tensor& y);
void reference_average_pool(const RealAveragePool& pool, const Tensor& x, Tensor& y);
void reference_add(const Tensor& a, const Tensor& b, Tensor& y);
void reference_concat(const std::vector<const Tensor*>& operands, Tensor& y);
void reference_activation(const RealActivation& activation, const Tensor& x, Tensor& y);
void reference_flatten(const RealFlatten& flatten, const Tensor& x, Tensor& y);

}  // namespace qsim::golden
