#include "compiler/passes/window_limits.h"

#include <algorithm>

#include "core/machine/isa/command_fields.h"

namespace qsim::compiler {
namespace {

constexpr std::int64_t kMaxKernelH = max_of<Execute>("kernel_h");
constexpr std::int64_t kMaxKernelW = max_of<Execute>("kernel_w");

// A pad may be as long as the longest kernel. EXECUTE's origin is never further from zero than a
// pad and a window together, dilation included, POST's never further than a window.
constexpr std::int64_t kMaxPad = std::min(kMaxKernelH, kMaxKernelW);
static_assert(kMaxKernelH + kMaxPad <= max_of<Execute>("origin_row") &&
              kMaxKernelW + kMaxPad <= max_of<Execute>("origin_col"));
static_assert(kMostPoolWindow <= max_of<Post>("pool_h") &&
              kMostPoolWindow <= max_of<Post>("pool_w") &&
              kMostPoolWindow <= max_of<Post>("pool_stride_h") &&
              kMostPoolWindow <= max_of<Post>("pool_stride_w") &&
              kMostPoolWindow <= max_of<Post>("origin_row") &&
              kMostPoolWindow <= max_of<Post>("origin_col"));

void check_limit(const Layer& layer, const char* what, std::int64_t value, std::int64_t limit) {
  if (value <= limit) return;
  throw_unsupported(layer_place(layer.name, layer.source) + ": " + what + " is " +
                    std::to_string(value) + "; the accelerator supports up to " +
                    std::to_string(limit));
}

void check_strides(const Layer& layer, const Window& window) {
  check_limit(layer, "vertical stride", window.stride_h, max_of<Execute>("stride_h"));
  check_limit(layer, "horizontal stride", window.stride_w, max_of<Execute>("stride_w"));
}

// Of a window whose taps are each an EXECUTE's.
void check_extent(const Layer& layer, const Window& window) {
  check_limit(layer, "height of window and padding",
              window.extent_h() + std::max(window.pad_top, window.pad_bottom),
              max_of<Execute>("origin_row"));
  check_limit(layer, "width of window and padding",
              window.extent_w() + std::max(window.pad_left, window.pad_right),
              max_of<Execute>("origin_col"));
}

}  // namespace

bool runs_tap_by_tap(const Window& window) {
  return (window.dilation_h > 1 && window.kernel_h > 1) ||
         (window.dilation_w > 1 && window.kernel_w > 1) || window.kernel_h > kMaxKernelH ||
         window.kernel_w > kMaxKernelW;
}

void check_conv_window(const Layer& layer, const Window& window) {
  check_strides(layer, window);
  if (runs_tap_by_tap(window)) return check_extent(layer, window);
  for (const std::int64_t pad :
       {window.pad_top, window.pad_left, window.pad_bottom, window.pad_right}) {
    check_limit(layer, "padding", pad, kMaxPad);
  }
}

void check_average_window(const Layer& layer, const Window& window) {
  check_strides(layer, window);
  check_extent(layer, window);
}

void check_max_pool_window(const Layer& layer, const Window& window) {
  check_limit(layer, "pooling kernel height", window.kernel_h, kMostPoolWindow);
  check_limit(layer, "pooling kernel width", window.kernel_w, kMostPoolWindow);
  check_limit(layer, "vertical pooling stride", window.stride_h, kMostPoolWindow);
  check_limit(layer, "horizontal pooling stride", window.stride_w, kMostPoolWindow);
}

std::int64_t positions_read(std::int64_t count, std::int64_t kernel, std::int64_t stride,
                            std::int64_t pad, std::int64_t size) {
  std::int64_t read = 0;
  std::int64_t end = 0;  // of the positions counted so far
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t begin = std::max(end, i * stride - pad);
    end = std::max(end, std::min(size, i * stride - pad + kernel));
    read += std::max<std::int64_t>(0, end - begin);
  }
  return read;
}

}  // namespace qsim::compiler
