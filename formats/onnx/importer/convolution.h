// The geometry of a convolution's node: window, groups and output, whatever its weights are made
// of.
#pragma once

#include <string>

#include "formats/onnx/importer/axes.h"
#include "formats/onnx/importer/node_reader.h"

namespace qsim::formats {

// Reads the attributes of Conv and QLinearConv.
NodeAttributes convolution_attributes(const NodeReader& node);

struct Convolution {
  Window window;  // with `pads`
  std::int64_t groups = 1;
  ImageShape output;
};

// Reads a convolution over pictures of shape `in` with `pads` around them, which are in the shape,
// and weights [M, C / groups, kernel_h, kernel_w] that the ONNX specification calls `weights`.
Convolution read_convolution(const NodeReader& node, const NodeAttributes& attributes,
                             const ImageShape& in, const Pads& pads, const std::string& weights,
                             const Shape& weights_shape);

}  // namespace qsim::formats
