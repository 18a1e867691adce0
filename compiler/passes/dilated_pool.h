// Dilated max-pools, as what the accelerator has: a copy of the picture that steps over rows and
// columns, and a pool without dilation on it. Where the stride is a multiple of the dilation, every
// tap of every window is on such a row and column.
#pragma once

#include "core/network/graph.h"

namespace qsim::compiler {

// Whether two taps of the window have input positions between them.
bool is_dilated(const Window& window);

struct StridedPool {
  Window copy;            // one tap; a pad below zero: the first row (column) that is read
  std::int64_t rows = 0;  // of the copy
  std::int64_t cols = 0;
  Window pool;  // on the copy
};

// Throws Error (exit code 4) where the stride is no multiple of the dilation, or no window has a
// position of the picture.
StridedPool strided_pool(const Layer& layer, const Window& window, const ImageShape& input,
                         const ImageShape& output);

}  // namespace qsim::compiler
