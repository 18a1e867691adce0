// MaxPool on 8-bit pictures.
#include "compiler/importer/operators.h"
#include "compiler/importer/window.h"

namespace qsim {
namespace {

constexpr int kFirstOpsetWith8Bit = 12;

void check_pads(const NodeReader& node, const Window& w) {
  const bool smaller = w.pad_top < w.kernel_h && w.pad_bottom < w.kernel_h &&
                       w.pad_left < w.kernel_w && w.pad_right < w.kernel_w;
  if (!smaller) {
    node.refuse("pads = " + shape_text({w.pad_top, w.pad_left, w.pad_bottom, w.pad_right}),
                "pads smaller than the kernel " + shape_text({w.kernel_h, w.kernel_w}));
  }
}

}  // namespace

void import_max_pool(const ModelGraph& model, const ModelNode& node, GraphBuilder& graph) {
  const NodeReader reader(model, node, 1, 1);
  const NodeAttributes attributes(reader, {"auto_pad", "ceil_mode", "dilations", "kernel_shape",
                                           "pads", "storage_order", "strides"});
  graph.require(reader, Axes::kNchw);
  if (reader.opset() < kFirstOpsetWith8Bit) {
    reader.malformed("8-bit MaxPool in opset " + std::to_string(reader.opset()),
                     "opset " + std::to_string(kFirstOpsetWith8Bit) + " or later");
  }
  attributes.require_integer("storage_order", 0);
  const std::int64_t ceil_mode = attributes.integer("ceil_mode", 0);
  if (ceil_mode != 0 && ceil_mode != 1) {
    reader.refuse("ceil_mode = " + std::to_string(ceil_mode), "0, 1");
  }
  if (ceil_mode == 1 && attributes.text("auto_pad", "NOTSET") == "VALID") {
    reader.refuse("ceil_mode = 1 with auto_pad VALID", "one of them");
  }
  const auto kernel = attributes.integers("kernel_shape", 2);
  if (!kernel) reader.malformed("kernel_shape is absent", "two numbers");

  const ImageShape in = graph.value().shape;
  const Window w = read_window(reader, attributes, in, (*kernel)[0], (*kernel)[1]);
  check_pads(reader, w);
  const bool ceil = ceil_mode == 1;
  const ImageShape shape{
      in.batch, window_count(in.height, w.kernel_h, w.stride_h, w.pad_top, w.pad_bottom, ceil),
      window_count(in.width, w.kernel_w, w.stride_w, w.pad_left, w.pad_right, ceil), in.channels};
  graph.add_layer(reader, MaxPool{w}, shape, Axes::kNchw);
}

}  // namespace qsim
