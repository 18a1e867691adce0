// The amounts of a Pad of pictures.
#pragma once

#include "compiler/importer/axes.h"
#include "compiler/importer/node_reader.h"

namespace qsim {

// Of a Pad in constant mode over a tensor with these axes; any but of height and width is refused.
Pads read_pad_amounts(const NodeReader& node, Axes axes);
// The pads of both.
Pads sum_of(const Pads& a, const Pads& b);

}  // namespace qsim
