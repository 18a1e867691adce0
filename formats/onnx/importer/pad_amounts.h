// The amounts of a Pad of pictures.
#pragma once

#include "formats/onnx/importer/axes.h"
#include "formats/onnx/importer/node_reader.h"

namespace qsim::formats {

// Whether the amounts of a Pad are an input.
bool has_pad_inputs(const NodeReader& node);
// The inputs that a Pad has: from opset 11 on the amounts are one, before that an attribute.
void require_pad_inputs(const NodeReader& node);
// The attribute `value` of a Pad before opset 11; else 0.
float pad_value(const NodeReader& node);
// Reads a Pad in constant mode over a tensor with these axes; refuses pads of any axis but height
// and width.
Pads read_pad_amounts(const NodeReader& node, Axes axes);
// The pads of both.
Pads sum_of(const Pads& a, const Pads& b);

}  // namespace qsim::formats
