// Networks of a host, made node by node.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/network/host_network.h"

namespace qsim {

class HostNetworkBuilder {
 public:
  HostNetwork network;

  // An input; of an unknown shape where none is given.
  HostValueId input(DType dtype) {
    network.inputs.push_back(value({}, "input"));
    network.values.back().array.tensor.dtype = dtype;
    return network.inputs.back();
  }
  HostValueId input(DType dtype, Shape shape) {
    network.inputs.push_back(value(known_shape(dtype, std::move(shape)), "input"));
    return network.inputs.back();
  }
  HostValueId constant(Tensor tensor) {
    return value({HostArray::Known::kValues, std::move(tensor)}, "constant");
  }

  // A node of one output, of which nothing is known.
  HostValueId add(const std::string& op, std::vector<HostValueId> inputs,
                  std::map<std::string, HostAttribute, std::less<>> attributes = {}) {
    HostNode node;
    node.name = op + "_" + std::to_string(network.nodes.size());
    node.op = op;
    node.opset = 17;
    node.source = "test.onnx: node '" + node.name + "' (" + op + ")";
    node.index = static_cast<int>(network.nodes.size());
    node.attributes = std::move(attributes);
    node.inputs = std::move(inputs);
    node.outputs = {value({}, op)};
    network.nodes.push_back(std::move(node));
    return network.nodes.back().outputs[0];
  }
  // A node whose output has a type, and a shape that does not matter.
  HostValueId add_of(DType dtype, const std::string& op, std::vector<HostValueId> inputs) {
    const HostValueId id = add(op, std::move(inputs));
    network.values[id].array = known_shape(dtype, {1, 4});
    return id;
  }

  void output(HostValueId id) { network.outputs.push_back(id); }
  const HostArray& array(HostValueId id) const { return network.values[id].array; }

 private:
  static HostArray known_shape(DType dtype, Shape shape) {
    HostArray array;
    array.known = HostArray::Known::kShape;
    array.tensor.dtype = dtype;
    array.tensor.shape = std::move(shape);
    return array;
  }

  HostValueId value(HostArray array, const std::string& kind) {
    network.values.push_back(
        {kind + "_" + std::to_string(network.values.size()), std::move(array)});
    return network.values.size() - 1;
  }
};

}  // namespace qsim
