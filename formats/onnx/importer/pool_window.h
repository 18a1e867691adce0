// The windows of pools, whatever kind of number they are over.
#pragma once

#include <cstdint>
#include <vector>

#include "formats/onnx/importer/axes.h"
#include "formats/onnx/importer/node_reader.h"

namespace qsim::formats {

// A window with its ceil_mode, and the picture that it leaves.
struct PoolWindow {
  Window window;
  ImageShape shape;
};

// Reads a pool with kernel_shape over pictures of shape `in`.
PoolWindow read_pool(const NodeReader& node, const NodeAttributes& attributes,
                     const ImageShape& in);
// The same without dilation, which average pools do not have.
PoolWindow read_average_pool(const NodeReader& node, const NodeAttributes& attributes,
                             const ImageShape& in);
// The window of a global pool: the whole picture.
PoolWindow global_pool(const ImageShape& in);

// A Pad before an average pool counts. True where the pool can take the pads into its own, which
// then count too.
bool take_pads(Window& window, bool& count_include_pad, const Pads& pads);

// The axes after a ReduceMean or ReduceMax over height and width; any other is refused.
Axes read_reduction(const NodeReader& node, Axes axes);

}  // namespace qsim::formats
