// The ends of the Graph that is built: the input that the file declares, its quantization, and the
// output that must be as the file declares it.
#include <algorithm>

#include "core/base/printable.h"
#include "core/network/graph_cleanup.h"
#include "formats/onnx/importer/declared_ends.h"
#include "formats/onnx/importer/graph_builder.h"
#include "formats/onnx/importer/tensor_proto.h"

namespace qsim::formats {
namespace {

using Kind = ImportedTensor::Kind;

// Whether an 8-bit or real tensor; sets the dtype of an 8-bit one.
Kind input_kind(int data_type, Value& input, const std::string& where) {
  switch (data_type) {
    case onnx::TensorProto::FLOAT:
      return Kind::kReal;
    case onnx::TensorProto::INT8:
      input.dtype = DType::kInt8;
      return Kind::kLevels;
    case onnx::TensorProto::UINT8:
      input.dtype = DType::kUint8;
      return Kind::kLevels;
    default:
      throw_unsupported(where + ": is " + onnx_dtype_name(data_type) +
                        "; supported: float32, int8, uint8");
  }
}

}  // namespace

void GraphBuilder::start(std::int64_t batch) {
  const DeclaredInput declared = read_input(model_, batch);
  graph_.name = model_.name;
  ImportedTensor input;
  input.kind = input_kind(declared.data_type, graph_.input_value(), declared.where);
  input.axes = declared.axes;
  graph_.input_value().shape = declared.shape;
  graph_.host.layout = HostInterface::Layout::kNchw;
  tensors_[model_.input->name()] = input;
}

ImportedTensor GraphBuilder::quantize_input(const NodeReader& node, const ImportedTensor& input,
                                            const Quantization& quantization) {
  if (graph_.host.float_input && this->quantization(input) != quantization) {
    node.refuse(
        "rounds the input to " + quantization_text(quantization),
        "one QuantizeLinear of the input, to " + quantization_text(this->quantization(input)));
  }
  if (!graph_.host.float_input) {
    graph_.host.float_input = true;
    graph_.input_value().dtype = quantization.dtype;
    for (Value& tensor : graph_.tensors) tensor.dtype = quantization.dtype;
    adopt(node, quantization);
  }
  ImportedTensor levels = input;
  levels.kind = Kind::kLevels;
  return levels;
}

void GraphBuilder::check_output(const ImportedTensor& output) const {
  const std::string where = output_place(model_);
  if (output.kind == Kind::kOpen) {
    throw_unsupported(where + ": is float32 of '" + echoed(layer_name(output.open->node)) +
                      "' without a QuantizeLinear; supported: int8, uint8, or float32 after a " +
                      "DequantizeLinear");
  }
  if (output.function) {
    throw_unsupported(where + ": is float32 of an activation; supported: int8, uint8, or " +
                      "float32 after a DequantizeLinear");
  }
  if (graph_.layers.empty() || output.kind == Kind::kReal) refuse_graph_without_layers(model_);
  const bool is_real = output.kind == Kind::kReals || output.is_real;
  const HostTail& tail = output.tail;
  const bool is_unsigned =
      tail.softmax_levels ? tail.softmax_levels->is_unsigned() : value(output).is_unsigned();
  Shape shape = onnx_shape(value(output).shape, output.axes);
  if (tail.arg_max) shape.resize(1);
  if (tail.arg_max_keeps_axis) shape.push_back(1);
  const int data_type = tail.arg_max  ? onnx::TensorProto::INT64
                        : is_real     ? onnx::TensorProto::FLOAT
                        : is_unsigned ? onnx::TensorProto::UINT8
                                      : onnx::TensorProto::INT8;
  check_declared_output(model_, data_type, shape);
  check_output_axes(model_, output.axes, graph_.host.layout);
}

Graph GraphBuilder::finish() && {
  const auto found = tensors_.find(model_.output->name());
  if (found == tensors_.end()) refuse_graph_without_layers(model_);
  ImportedTensor output = found->second;
  const auto last = std::ranges::find_if(model_.nodes, [&](const ModelNode& node) {
    return std::ranges::find(node.proto->output(), model_.output->name()) !=
           node.proto->output().end();
  });
  if (last != model_.nodes.end()) {
    const NodeReader node(model_, *last);
    output.id = without_pads(node, output).id;
    output.pads = {};
    // No node gave the input a quantization; a Pad gave it a zero_point. The scale changes no byte.
    for (Value& tensor : graph_.tensors) {
      if (tensor.scale || expected_zero_points_.empty()) continue;
      tensor.zero_point = expected_zero_points_[0];
      tensor.scale = Scale::power_of_two(0);
      check_zero_point(node, tensor.zero_point);
    }
  }
  check_output(output);
  graph_.host.float_output = output.kind == Kind::kReals || output.is_real;
  graph_.host.tail = output.tail;
  graph_.host.flat_output = output.axes == Axes::kNk;
  graph_.output = output.id;
  return cleaned(with_tables_before_flattens(std::move(graph_)));
}

}  // namespace qsim::formats
