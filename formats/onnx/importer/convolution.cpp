#include "formats/onnx/importer/convolution.h"

#include <algorithm>

#include "formats/onnx/importer/window.h"

namespace qsim::formats {
namespace {

void check_weights(const NodeReader& node, const std::string& name, const Shape& shape,
                   std::int64_t in_channels, std::int64_t groups) {
  if (shape.size() != 4) {
    node.refuse(name + " has shape " + shape_text(shape), "[M, C, kernel_h, kernel_w]");
  }
  if (groups < 1 || in_channels % groups != 0 || shape[0] % groups != 0) {
    node.malformed("group = " + std::to_string(groups) + " with " + std::to_string(in_channels) +
                       " input and " + std::to_string(shape[0]) + " output channels",
                   "a divisor of both");
  }
  const bool is_empty = std::ranges::find(shape, 0) != shape.end();
  if (is_empty || shape[1] != in_channels / groups) {
    node.malformed(
        name + " has shape " + shape_text(shape),
        "[M, " + std::to_string(in_channels / groups) + ", kernel_h, kernel_w] with M >= 1");
  }
}

void check_kernel_shape(const NodeReader& node, const NodeAttributes& attributes,
                        const Shape& weights) {
  const auto kernel = attributes.integers("kernel_shape", 2);
  if (kernel && ((*kernel)[0] != weights[2] || (*kernel)[1] != weights[3])) {
    node.malformed("kernel_shape = " + shape_text(*kernel),
                   shape_text({weights[2], weights[3]}) + ", as w has");
  }
}

}  // namespace

NodeAttributes convolution_attributes(const NodeReader& node) {
  return NodeAttributes(node,
                        {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"});
}

Convolution read_convolution(const NodeReader& node, const NodeAttributes& attributes,
                             const ImageShape& in, const Pads& pads, const std::string& weights,
                             const Shape& weights_shape) {
  Convolution read;
  read.groups = attributes.integer("group", 1);
  check_weights(node, weights, weights_shape, in.channels, read.groups);
  check_kernel_shape(node, attributes, weights_shape);
  read.window = read_window(node, attributes, in, weights_shape[2], weights_shape[3]);
  const Window& w = read.window;
  read.output = {
      in.batch, window_count(in.height, w.extent_h(), w.stride_h, w.pad_top, w.pad_bottom),
      window_count(in.width, w.extent_w(), w.stride_w, w.pad_left, w.pad_right), weights_shape[0]};
  add_pads(read.window, pads);
  return read;
}

}  // namespace qsim::formats
