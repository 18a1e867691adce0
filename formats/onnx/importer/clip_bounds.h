// The bounds of a Clip: attributes, from opset 11 on constant inputs.
#pragma once

#include "formats/onnx/importer/node_reader.h"

namespace qsim::formats {

struct ClipBounds {
  float low;   // -infinity where absent
  float high;  // infinity where absent
};

ClipBounds read_clip(const NodeReader& node);

}  // namespace qsim::formats
