// Which windows the accelerator's commands can have. Each check throws Error (exit code 4) that
// names the layer, the number and the limit.
#pragma once

#include "core/network/graph.h"

namespace qsim::compiler {

// Whether an EXECUTE runs one tap of the window: its kernel rows and columns are neighbours, and so
// many at most. So it is where there are input positions between the taps, and in the windows of
// large average pools.
bool runs_tap_by_tap(const Window& window);

void check_conv_window(const Layer& layer, const Window& window);
void check_average_window(const Layer& layer, const Window& window);
void check_max_pool_window(const Layer& layer, const Window& window);

// Positions of [0, size) under at least one of `count` windows along one axis.
std::int64_t positions_read(std::int64_t count, std::int64_t kernel, std::int64_t stride,
                            std::int64_t pad, std::int64_t size);

}  // namespace qsim::compiler
