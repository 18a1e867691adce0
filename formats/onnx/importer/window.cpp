#include "formats/onnx/importer/window.h"

#include <algorithm>

#include "core/base/checked_math.h"
#include "core/base/printable.h"
#include "core/network/auto_pad.h"

namespace qsim::formats {
namespace {

struct SidePads {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// SAME: ceil(size / stride) outputs; an odd pad lies at the end for SAME_UPPER, at the beginning
// for SAME_LOWER. (outputs - 1) * stride < size, so that product cannot overflow. Where the windows
// leave out several positions at the end, ONNX's formula gives negative pads: ONNX Runtime then
// moves the windows, by one number for pools and another for convolutions.
SidePads same_pads(const NodeReader& node, const std::string& mode, std::int64_t size,
                   std::int64_t kernel, std::int64_t stride) {
  const std::int64_t reach = checked_add((size - 1) / stride * stride, kernel);
  if (reach - size < -1) {
    node.refuse("auto_pad " + mode + " pads " + std::to_string(size) + " positions by " +
                    std::to_string(reach - size) + " for kernel " + std::to_string(kernel) +
                    " and stride " + std::to_string(stride),
                "windows that leave out at most one position, or pads");
  }
  const std::int64_t total = std::max<std::int64_t>(reach - size, 0);
  const std::int64_t begin = same_pad_begin(total, mode == "SAME_UPPER");
  return {begin, total - begin};
}

void require_positive(const NodeReader& node, const char* name, std::int64_t h, std::int64_t w) {
  if (h < 1 || w < 1) {
    node.malformed(std::string(name) + " = " + shape_text({h, w}), "1 or more");
  }
}

void read_pads(const NodeReader& node, const NodeAttributes& attributes, Window& window) {
  const auto pads = attributes.integers("pads", 4);
  if (!pads) return;
  for (const std::int64_t pad : *pads) {
    if (pad < 0) node.refuse("pads = " + shape_text(*pads), "0 or more");
  }
  window.pad_top = (*pads)[0];
  window.pad_left = (*pads)[1];
  window.pad_bottom = (*pads)[2];
  window.pad_right = (*pads)[3];
}

bool has_pads(const Window& window) {
  return window.pad_top != 0 || window.pad_left != 0 || window.pad_bottom != 0 ||
         window.pad_right != 0;
}

void resolve_auto_pad(const NodeReader& node, const NodeAttributes& attributes,
                      const ImageShape& input, Window& window) {
  const std::string mode = attributes.text("auto_pad", "NOTSET");
  if (mode == "NOTSET") return;
  if (has_pads(window)) node.malformed("auto_pad " + echoed(mode) + " and pads", "one of them");
  if (mode == "VALID") return;
  if (mode != "SAME_UPPER" && mode != "SAME_LOWER") {
    node.refuse("auto_pad = '" + echoed(mode) + "'", "NOTSET, VALID, SAME_UPPER, SAME_LOWER");
  }
  const SidePads h = same_pads(node, mode, input.height, window.extent_h(), window.stride_h);
  const SidePads w = same_pads(node, mode, input.width, window.extent_w(), window.stride_w);
  window.pad_top = h.begin;
  window.pad_bottom = h.end;
  window.pad_left = w.begin;
  window.pad_right = w.end;
}

}  // namespace

Window read_window(const NodeReader& node, const NodeAttributes& attributes,
                   const ImageShape& input, std::int64_t kernel_h, std::int64_t kernel_w) {
  Window window;
  window.kernel_h = kernel_h;
  window.kernel_w = kernel_w;
  require_positive(node, "kernel_shape", kernel_h, kernel_w);
  if (const auto strides = attributes.integers("strides", 2)) {
    window.stride_h = (*strides)[0];
    window.stride_w = (*strides)[1];
    require_positive(node, "strides", window.stride_h, window.stride_w);
  }
  if (const auto dilations = attributes.integers("dilations", 2)) {
    window.dilation_h = (*dilations)[0];
    window.dilation_w = (*dilations)[1];
    require_positive(node, "dilations", window.dilation_h, window.dilation_w);
  }
  checked_add(checked_mul(kernel_h - 1, window.dilation_h), 1);
  checked_add(checked_mul(kernel_w - 1, window.dilation_w), 1);
  read_pads(node, attributes, window);
  resolve_auto_pad(node, attributes, input, window);
  return window;
}

void add_pads(Window& window, const Pads& pads) {
  window.pad_top = checked_add(window.pad_top, pads.top);
  window.pad_left = checked_add(window.pad_left, pads.left);
  window.pad_bottom = checked_add(window.pad_bottom, pads.bottom);
  window.pad_right = checked_add(window.pad_right, pads.right);
}

}  // namespace qsim::formats
