// The definition of every layer as plain loops, one function a layer. Written to be read and
// checked by eye, not to be fast. Operands and `y` are float32 [N][H][W][C]; y has its shape.
#pragma once

#include "core/graph.h"
#include "core/tensor.h"

namespace qsim::golden {

void reference_conv2d(const Conv2d& conv, const Tensor& x, Tensor& y);
void reference_linear(const FullyConnected& linear, const Tensor& x, Tensor& y);
void reference_max_pool(const MaxPool& pool, const Tensor& x, Tensor& y);
void reference_average_pool(const AveragePool& pool, const Tensor& x, Tensor& y);
void reference_add(const Tensor& a, const Tensor& b, Tensor& y);
void reference_concat(const std::vector<const Tensor*>& operands, Tensor& y);
void reference_activation(const Activation& activation, const Tensor& x, Tensor& y);
void reference_prelu(const PRelu& prelu, const Tensor& x, Tensor& y);
void reference_flatten(const Flatten& flatten, const Tensor& x, Tensor& y);

}  // namespace qsim::golden
