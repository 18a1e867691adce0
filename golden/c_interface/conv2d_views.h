// The checked tensors of an int8 convolution, which the CPU and a GPU compute with.
#pragma once

#include <optional>

#include "core/network/operations.h"
#include "core/numerics/requantizer.h"
#include "golden/c_interface/tensor_view.h"

namespace qsim::golden::c_interface {

struct Conv2dViews {
  View x;
  View weights;
  View y;
  View scales;
  std::optional<View> bias;
  Window window;
  std::int64_t groups;
};

// Enqueues the layer on the call's stream. All tensors are on a GPU and fit each other; y alone has
// no gaps, or Error is thrown.
void conv2d_on_device(const Call& call, const Conv2dViews& views,
                      const qsim_requantization& requantization);

}  // namespace qsim::golden::c_interface
