// The sliding window of a convolution or a pool from kernel_shape, strides, pads and auto_pad.
#pragma once

#include "core/network/graph.h"
#include "formats/onnx/importer/imported_tensor.h"
#include "formats/onnx/importer/node_reader.h"

namespace qsim::formats {

// Reads strides, pads, auto_pad and dilations of a window of kernel_h x kernel_w over
// pictures of shape `input`; auto_pad is resolved into pads.
Window read_window(const NodeReader& node, const NodeAttributes& attributes,
                   const ImageShape& input, std::int64_t kernel_h, std::int64_t kernel_w);

// Adds the pads of a Pad before the window to its own.
void add_pads(Window& window, const Pads& pads);

}  // namespace qsim::formats
