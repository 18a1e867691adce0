// The window of a convolution of the C interface.
#pragma once

#include "core/network/operations.h"
#include "golden/c_interface/tensor_view.h"

namespace qsim::golden::c_interface {

// NULL is QSIM_WINDOW_INIT. Only counts are copied: what is allowed, the convolutions check. Throws
// Error beyond 31 bits, where their sums and products would not fit.
inline Window window_of(const Call& call, const qsim_window* given, std::int64_t kernel_h,
                        std::int64_t kernel_w) {
  const qsim_window window = given != nullptr ? *given : qsim_window QSIM_WINDOW_INIT;
  for (const std::int64_t number :
       {window.stride_h, window.stride_w, window.pad_top, window.pad_left, window.pad_bottom,
        window.pad_right, window.dilation_h, window.dilation_w, kernel_h, kernel_w}) {
    if (number >= INT32_MIN && number <= INT32_MAX) continue;
    call.refuse_value("a number of the window", number, "-2147483648 to 2147483647");
  }
  Window result;
  result.kernel_h = kernel_h;
  result.kernel_w = kernel_w;
  result.stride_h = window.stride_h;
  result.stride_w = window.stride_w;
  result.pad_top = window.pad_top;
  result.pad_left = window.pad_left;
  result.pad_bottom = window.pad_bottom;
  result.pad_right = window.pad_right;
  result.dilation_h = window.dilation_h;
  result.dilation_w = window.dilation_w;
  return result;
}

}  // namespace qsim::golden::c_interface
