// The definition of every layer as plain loops, one function a layer. Written to be read and
// checked by eye, not to be fast. Operands and `y` are float32 [N][H][W][C]; y has its shape.
#pragma once

#include "core/graph.h"
#include "core/tensor.h"
#include "golden/real/real_layer.h"

namespace qsim::golden {

void reference(const Conv2d& conv, RealOperands operands, Tensor& y);
void reference(const FullyConnected& fc, RealOperands operands, Tensor& y);
void reference(const MaxPool& pool, RealOperands operands, Tensor& y);
void reference(const AveragePool& pool, RealOperands operands, Tensor& y);
void reference(const Add& add, RealOperands operands, Tensor& y);
void reference(const Concat& concat, RealOperands operands, Tensor& y);
void reference(const Activation& activation, RealOperands operands, Tensor& y);
void reference(const PRelu& prelu, RealOperands operands, Tensor& y);
void reference(const Flatten& flatten, RealOperands operands, Tensor& y);

}  // namespace qsim::golden
