// The window of a convolution of the C interface.
#pragma once

#include "core/operations.h"
#include "golden/c_interface/tensor_view.h"

namespace qsim::golden::c_interface {

// NULL is QSIM_WINDOW_INIT. Only counts are copied: what is allowed, the convolutions check.
inline Window window_of(const qsim_window* given, std::int64_t kernel_h, std::int64_t kernel_w) {
  const qsim_window window = given != nullptr ? *given : qsim_window QSIM_WINDOW_INIT;
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
