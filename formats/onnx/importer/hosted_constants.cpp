#include "formats/onnx/importer/hosted_constants.h"

#include <algorithm>
#include <vector>

#include "formats/onnx/importer/host_importer.h"
#include "formats/onnx/importer/part_rewrites.h"
#include "formats/onnx/importer/tensor_proto.h"

namespace qsim::formats {

std::set<std::string, std::less<>> widen_constants(ModelGraph& model, const HostNetwork& network) {
  std::set<std::string, std::less<>> zero_points;
  for (const ModelNode& node : model.nodes) {
    const onnx::NodeProto& proto = *node.proto;
    const bool quantizes = proto.op_type() == "QuantizeLinear" && proto.input_size() == 3;
    if (quantizes && model.constant(proto.input(0)) == nullptr) zero_points.insert(proto.input(2));
  }
  std::set<std::string, std::less<>> widened;
  for (const HostValue& value : network.values) {
    const onnx::TensorProto* const proto = model.constant(value.name);
    if (proto == nullptr || !value.array.has_values() || zero_points.contains(value.name) ||
        !is_wider_on_host(proto->data_type())) {
      continue;
    }
    widened.insert(value.name);
    model.add_constant(value.name, proto_of(value.array.tensor));
  }
  return widened;
}

void name_constants(ModelGraph& model, const HostNetwork& network) {
  std::vector<bool> dequantized(network.values.size(), false);
  std::set<int> gone;
  for (const HostNode& node : network.nodes) {
    bool from_integers = node.op == "DequantizeLinear";
    for (const HostValueId id : node.inputs) {
      from_integers = from_integers || (id != kAbsentValue && dequantized[id]);
    }
    if (!is_folded(network, node)) continue;
    bool is_named = true;
    for (const HostValueId id : node.outputs) {
      if (id == kAbsentValue) continue;
      const Tensor& tensor = network.values[id].array.tensor;
      dequantized[id] = from_integers && tensor.dtype == DType::kFloat32;
      if (dequantized[id]) {
        is_named = false;
      } else if (model.constant(network.values[id].name) == nullptr) {
        model.add_constant(network.values[id].name, proto_of(tensor));
      }
    }
    if (is_named) gone.insert(node.index);
  }
  std::erase_if(model.nodes, [&](const ModelNode& node) { return gone.contains(node.index); });
}

}  // namespace qsim::formats
