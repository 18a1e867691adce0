#include "compiler/passes/dilated_pool.h"

#include "core/base/checked_math.h"

namespace qsim::compiler {
namespace {

// One axis of a window.
struct Axis {
  std::int64_t kernel;
  std::int64_t stride;
  std::int64_t dilation;
  std::int64_t pad;  // before the picture
};

struct StridedAxis {
  std::int64_t step;   // of the copy; the dilation
  std::int64_t first;  // position that the copy begins with
  std::int64_t size;   // positions of the copy
  std::int64_t stride;
  std::int64_t pad;
};

// Tap k of output o reads o * stride + k * dilation - pad. With pad = absent * dilation - first
// that is first + dilation * (o * (stride / dilation) + k - absent).
StridedAxis strided(const Layer& layer, const char* name, Axis axis, std::int64_t size,
                    std::int64_t outputs) {
  const std::string found = layer_place(layer.name, layer.source) + ": " + name + " dilation is " +
                            std::to_string(axis.dilation) + " with ";
  if (axis.kernel == 1) axis.dilation = 1;
  if (outputs > 1 && axis.stride % axis.dilation != 0) {
    throw_unsupported(found + "a stride of " + std::to_string(axis.stride) +
                      "; the accelerator runs dilated max-pools whose stride is a multiple of the "
                      "dilation");
  }
  if (outputs == 1) axis.stride = axis.dilation;  // of one window no stride matters
  const std::int64_t absent = ceil_div(axis.pad, axis.dilation);
  const std::int64_t first = absent * axis.dilation - axis.pad;
  if (first >= size) {
    throw_unsupported(found + "pads of " + std::to_string(axis.pad) + " before " +
                      std::to_string(size) + " positions: no tap of a window meets the picture");
  }
  return {axis.dilation, first, ceil_div(size - first, axis.dilation), axis.stride / axis.dilation,
          absent};
}

}  // namespace

bool is_dilated(const Window& window) {
  return (window.dilation_h > 1 && window.kernel_h > 1) ||
         (window.dilation_w > 1 && window.kernel_w > 1);
}

StridedPool strided_pool(const Layer& layer, const Window& window, const ImageShape& input,
                         const ImageShape& output) {
  const StridedAxis rows = strided(
      layer, "vertical", {window.kernel_h, window.stride_h, window.dilation_h, window.pad_top},
      input.height, output.height);
  const StridedAxis cols = strided(
      layer, "horizontal", {window.kernel_w, window.stride_w, window.dilation_w, window.pad_left},
      input.width, output.width);
  StridedPool result;
  result.copy.stride_h = rows.step;
  result.copy.stride_w = cols.step;
  result.copy.pad_top = -rows.first;
  result.copy.pad_left = -cols.first;
  result.rows = rows.size;
  result.cols = cols.size;
  result.pool = window;
  result.pool.dilation_h = result.pool.dilation_w = 1;
  result.pool.stride_h = rows.stride;
  result.pool.stride_w = cols.stride;
  result.pool.pad_top = rows.pad;
  result.pool.pad_left = cols.pad;
  return result;
}

}  // namespace qsim::compiler
