#include "formats/onnx/exporter/onnx_exporter.h"

#include <algorithm>
#include <limits>

#include "core/base/checked_math.h"
#include "core/base/error.h"
#include "formats/onnx/exporter/layer_writer.h"
#include "formats/onnx/exporter/model_writer.h"
#include "formats/onnx/exporter/tensor_writer.h"

namespace qsim::formats {
namespace {

// A protobuf message has less than 2 GiB.
constexpr std::int64_t kMostBytes = std::numeric_limits<std::int32_t>::max();

[[noreturn]] void refuse_size(const std::string& name, std::int64_t bytes) {
  throw_bad_input("network '" + name + "': an ONNX file of " + std::to_string(bytes) +
                  " bytes or more; expected at most " + std::to_string(kMostBytes) +
                  ", which is what protobuf allows");
}

// Before anything is copied.
void require_size(const Graph& graph) {
  std::int64_t bytes = 0;
  for (const Layer& layer : graph.layers) {
    const auto add = [&](const Tensor& weights) { bytes = checked_add(bytes, weights.elems()); };
    if (const auto* conv = std::get_if<Conv2d>(&layer.operation)) add(conv->weights);
    if (const auto* fc = std::get_if<FullyConnected>(&layer.operation)) add(fc->weights);
  }
  if (bytes > kMostBytes) refuse_size(graph.name, bytes);
}

void require_scales(const Graph& graph) {
  if (!graph.input_value().scale) throw_unsupported("the network's input has no scale");
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    if (graph.output_of(i).scale) continue;
    throw_unsupported(layer_place(graph.layers[i].name, graph.layers[i].source) +
                      ": its output has no scale");
  }
}

class GraphWriter {
 public:
  GraphWriter(const QuantizedNetwork& network, OnnxForm form)
      : network_(network),
        model_(network.graph),
        tensors_(network.graph, form, model_),
        form_(form) {}

  onnx::ModelProto write() && {
    write_input();
    LayerWriter(network_, form_, model_, tensors_).write();
    write_output();
    return std::move(model_).finish();
  }

 private:
  const Graph& graph() const { return network_.graph; }
  bool is_nhwc() const { return graph().host.layout == HostInterface::Layout::kNhwc; }

  Shape shape_of(const Value& value, TensorRank rank) const {
    const ImageShape& s = value.shape;
    if (rank == TensorRank::kVector) return {s.batch, s.channels};
    if (is_nhwc()) return s.nhwc();
    return {s.batch, s.channels, s.height, s.width};
  }

  std::string transposed(const std::string& wanted, const std::string& tensor, const Ints& perm) {
    onnx::NodeProto& node = model_.add_node("Transpose", wanted, {tensor});
    set_ints(node, "perm", perm);
    return node.output(0);
  }

  // [N, K] where fully connected layers alone read it.
  TensorRank input_rank() const {
    for (const Layer& layer : graph().layers) {
      const bool reads = std::ranges::find(layer.inputs, graph().input) != layer.inputs.end();
      if (reads && !std::holds_alternative<FullyConnected>(layer.operation))
        return TensorRank::kPicture;
    }
    return TensorRank::kVector;
  }

  void write_input() {
    const TensorRank rank = input_rank();
    const bool is_real = graph().host.float_input;
    const auto dtype = onnx_dtype(graph().input_value().dtype);
    std::string tensor = model_.new_name("input");
    model_.declare_input(tensor, is_real ? onnx::TensorProto::FLOAT : dtype,
                         shape_of(graph().input_value(), rank));
    if (is_nhwc() && rank == TensorRank::kPicture) {
      tensor = transposed("input/nchw", tensor, {0, 3, 1, 2});
    }
    if (is_real) {
      const std::string levels = model_.new_name("input/levels");
      tensors_.quantize(tensor, graph().input, levels);
      tensor = levels;
    }
    tensors_.define(graph().input, tensor, rank);
  }

  // The node that writes the output has its name, "output", unless that is a layer's levels.
  void write_output() {
    const HostInterface& host = graph().host;
    const TensorRank rank = host.flat_output ? TensorRank::kVector : TensorRank::kPicture;
    const bool turns = is_nhwc() && rank == TensorRank::kPicture;
    std::string tensor = tensors_.levels(graph().output, rank);
    bool is_real = false;
    if (host.float_output || host.tail.softmax) {
      tensor = tensors_.dequantize(tensor, graph().output,
                                   turns || !host.tail.is_empty() ? tensor + "/real" : "output");
      is_real = true;
    }
    if (turns) tensor = transposed("output", tensor, {0, 2, 3, 1});
    auto dtype = is_real ? onnx::TensorProto::FLOAT : onnx_dtype(graph().output_value().dtype);
    if (host.tail.softmax) write_softmax(tensor, dtype);
    Shape shape = shape_of(graph().output_value(), rank);
    if (host.tail.arg_max) {
      tensor = model_.add_arg_max(tensor, host.tail.arg_max_keeps_axis, shape);
      dtype = onnx::TensorProto::INT64;
    }
    model_.declare_output(tensor, dtype, shape);
  }

  // Of real numbers, and rounded to levels where the tail says so.
  void write_softmax(std::string& tensor, onnx::TensorProto::DataType& dtype) {
    const HostInterface& host = graph().host;
    onnx::NodeProto& node = model_.add_node("Softmax", "softmax", {tensor});
    set_int(node, "axis", 1);
    tensor = node.output(0);
    if (!host.tail.softmax_levels) return;
    const Value& levels = *host.tail.softmax_levels;
    const std::string scale = model_.add_float("softmax/scale", levels.scale->real());
    const std::string zero_point =
        model_.add_constant("softmax/zero_point", onnx_dtype(levels.dtype), {},
                            std::string(1, static_cast<char>(levels.zero_point)));
    tensor =
        model_.add_node("QuantizeLinear", "softmax/levels", {tensor, scale, zero_point}).output(0);
    dtype = onnx_dtype(levels.dtype);
    if (!host.float_output) return;
    tensor =
        model_.add_node("DequantizeLinear", "softmax/real", {tensor, scale, zero_point}).output(0);
    dtype = onnx::TensorProto::FLOAT;
  }

  const QuantizedNetwork& network_;
  ModelWriter model_;
  TensorWriter tensors_;
  OnnxForm form_;
};

}  // namespace

std::string onnx_bytes(const QuantizedNetwork& network, OnnxForm form) {
  const std::size_t layers = network.graph.layers.size();
  QSIM_CHECK(network.weights.size() == layers && network.activations.size() == layers,
             "one entry a layer");
  require_scales(network.graph);
  require_size(network.graph);
  const onnx::ModelProto model = GraphWriter(network, form).write();
  const std::size_t bytes = model.ByteSizeLong();
  if (bytes > static_cast<std::size_t>(kMostBytes)) {
    refuse_size(network.graph.name, static_cast<std::int64_t>(bytes));
  }
  std::string result;
  QSIM_CHECK(model.SerializeToString(&result), "a model that protobuf does not write");
  return result;
}

}  // namespace qsim::formats
