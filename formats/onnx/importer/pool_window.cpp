#include "formats/onnx/importer/pool_window.h"

#include <algorithm>

#include "formats/onnx/importer/window.h"

namespace qsim::formats {
namespace {

constexpr int kFirstReductionOpsetWithAxesInput = 18;

void check_pads(const NodeReader& node, const Window& w) {
  const bool smaller = w.pad_top < w.extent_h() && w.pad_bottom < w.extent_h() &&
                       w.pad_left < w.extent_w() && w.pad_right < w.extent_w();
  if (!smaller) {
    node.refuse("pads = " + shape_text({w.pad_top, w.pad_left, w.pad_bottom, w.pad_right}),
                "pads smaller than the kernel " + shape_text({w.extent_h(), w.extent_w()}));
  }
}

// The axes of a reduction, an attribute or an input.
std::vector<std::int64_t> reduced_axes(const NodeReader& node, const NodeAttributes& attributes) {
  std::vector<std::int64_t> axes;
  if (node.opset() >= kFirstReductionOpsetWithAxesInput) {
    if (node.has_input(1)) axes = node.int64s(1, "axes");
  } else {
    axes = attributes.integers("axes").value_or(std::vector<std::int64_t>{});
  }
  for (std::int64_t& axis : axes) axis += axis < 0 ? 4 : 0;
  std::sort(axes.begin(), axes.end());
  return axes;
}

}  // namespace

PoolWindow read_pool(const NodeReader& node, const NodeAttributes& attributes,
                     const ImageShape& in) {
  const std::int64_t ceil_mode = attributes.integer("ceil_mode", 0);
  if (ceil_mode != 0 && ceil_mode != 1) {
    node.refuse("ceil_mode = " + std::to_string(ceil_mode), "0, 1");
  }
  if (ceil_mode == 1 && attributes.text("auto_pad", "NOTSET") == "VALID") {
    node.refuse("ceil_mode = 1 with auto_pad VALID", "one of them");
  }
  const auto kernel = attributes.integers("kernel_shape", 2);
  if (!kernel) node.malformed("kernel_shape is absent", "two numbers");
  const Window w = read_window(node, attributes, in, (*kernel)[0], (*kernel)[1]);
  check_pads(node, w);
  const bool ceil = ceil_mode == 1;
  return {
      w,
      {in.batch, window_count(in.height, w.extent_h(), w.stride_h, w.pad_top, w.pad_bottom, ceil),
       window_count(in.width, w.extent_w(), w.stride_w, w.pad_left, w.pad_right, ceil),
       in.channels}};
}

PoolWindow read_average_pool(const NodeReader& node, const NodeAttributes& attributes,
                             const ImageShape& in) {
  const PoolWindow read = read_pool(node, attributes, in);
  if (read.window.dilation_h != 1 || read.window.dilation_w != 1) {
    node.refuse("dilations = " + shape_text({read.window.dilation_h, read.window.dilation_w}),
                "[1, 1]");
  }
  return read;
}

PoolWindow global_pool(const ImageShape& in) {
  return {{.kernel_h = in.height, .kernel_w = in.width}, {in.batch, 1, 1, in.channels}};
}

bool take_pads(Window& window, bool& count_include_pad, const Pads& pads) {
  if (pads == Pads{}) return true;
  const bool has_pads =
      window.pad_top + window.pad_bottom + window.pad_left + window.pad_right != 0;
  if (has_pads && !count_include_pad) return false;
  Window together = window;
  add_pads(together, pads);
  const bool smaller = together.pad_top < window.kernel_h &&
                       together.pad_bottom < window.kernel_h &&
                       together.pad_left < window.kernel_w && together.pad_right < window.kernel_w;
  if (!smaller) return false;
  window = together;
  count_include_pad = true;
  return true;
}

Axes read_reduction(const NodeReader& node, Axes axes) {
  const NodeAttributes attributes(node, {"axes", "keepdims", "noop_with_empty_axes"});
  const std::vector<std::int64_t> reduced = reduced_axes(node, attributes);
  const std::vector<std::int64_t> pictures =
      axes == Axes::kNchw ? std::vector<std::int64_t>{2, 3} : std::vector<std::int64_t>{1, 2};
  if (axes == Axes::kNk || reduced != pictures) {
    node.refuse("axes = " + shape_text(reduced) + " of " + axes_name(axes),
                "height and width of pictures");
  }
  return attributes.integer("keepdims", 1) != 0 ? axes : Axes::kNk;
}

}  // namespace qsim::formats
