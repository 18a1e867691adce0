#include "formats/onnx/exporter/hybrid_exporter.h"

#include <algorithm>

#include "core/base/error.h"
#include "formats/onnx/exporter/hybrid_layer_writer.h"
#include "formats/onnx/exporter/model_writer.h"
#include "formats/onnx/exporter/rounding_functions.h"

namespace qsim::formats {
namespace {

class NetworkWriter {
 public:
  explicit NetworkWriter(const HybridNetwork& network)
      : network_(network), model_(network.graph), layers_(network, model_) {}

  onnx::ModelProto write() && {
    write_input();
    layers_.write();
    write_output();
    onnx::ModelProto model = std::move(model_).finish();
    add_rounding_functions(model);
    return model;
  }

 private:
  const Graph& graph() const { return network_.graph; }
  bool is_nhwc() const { return graph().host.layout == HostInterface::Layout::kNhwc; }

  Shape shape_of(const ImageShape& shape, bool is_vector) const {
    if (is_vector) return {shape.batch, shape.channels};
    if (is_nhwc()) return shape.nhwc();
    return {shape.batch, shape.channels, shape.height, shape.width};
  }

  std::string transposed(const std::string& wanted, const std::string& tensor, const Ints& perm) {
    onnx::NodeProto& node = model_.add_node("Transpose", wanted, {tensor});
    set_ints(node, "perm", perm);
    return node.output(0);
  }

  void write_input() {
    const bool is_vector = layers_.is_vector(graph().input);
    std::string tensor = model_.new_name("input");
    model_.declare_input(tensor, onnx::TensorProto::FLOAT,
                         shape_of(graph().input_shape(), is_vector));
    if (is_nhwc() && !is_vector) tensor = transposed("input/nchw", tensor, {0, 3, 1, 2});
    layers_.define(graph().input, tensor);
  }

  void write_output() {
    const HostInterface& host = graph().host;
    const bool is_vector = layers_.is_vector(graph().output);
    std::string tensor = layers_.tensor(graph().output);
    if (is_nhwc() && !is_vector) tensor = transposed("output", tensor, {0, 2, 3, 1});
    Shape shape = shape_of(graph().output_shape(), is_vector);
    if (host.tail.softmax) {
      onnx::NodeProto& node = model_.add_node("Softmax", "softmax", {tensor});
      set_int(node, "axis", 1);
      tensor = node.output(0);
    }
    auto dtype = onnx::TensorProto::FLOAT;
    if (host.tail.arg_max) {
      tensor = model_.add_arg_max(tensor, host.tail.arg_max_keeps_axis, shape);
      dtype = onnx::TensorProto::INT64;
    }
    model_.declare_output(tensor, dtype, shape);
  }

  const HybridNetwork& network_;
  ModelWriter model_;
  HybridLayerWriter layers_;
};

}  // namespace

std::string onnx_bytes(const HybridNetwork& network) {
  QSIM_CHECK(network.graph.is_real(), "a hybrid network of integers");
  return serialized(NetworkWriter(network).write());
}

}  // namespace qsim::formats
