#include "golden/host/levels_function.h"

#include <algorithm>
#include <map>

#include "golden/host/host_operators.h"

namespace qsim::golden {
namespace {

constexpr std::int64_t kBytes = 256;

bool is_elementwise(const HostNode& node) {
  if (node.op == "DequantizeLinear" || node.op == "Identity") return true;
  return std::ranges::any_of(elementwise_operators(), [&](const HostOperator& row) {
    return row.name == node.op && row.domain == node.domain;
  });
}

HostArray every_byte(DType dtype) {
  HostArray array{HostArray::Known::kValues, Tensor(dtype, {kBytes})};
  for (std::size_t byte = 0; byte < array.tensor.bytes.size(); ++byte) {
    array.tensor.bytes[byte] = static_cast<std::byte>(byte);
  }
  return array;
}

}  // namespace

std::optional<std::vector<float>> levels_function(const HostNetwork& network,
                                                  const std::vector<std::size_t>& nodes,
                                                  HostValueId source, HostValueId result) {
  std::map<HostValueId, HostArray> found;
  found[source] = every_byte(network.values[source].array.tensor.dtype);
  for (const std::size_t n : nodes) {
    const HostNode& node = network.nodes[n];
    if (!is_elementwise(node) || node.outputs.size() != 1) return std::nullopt;
    std::vector<const HostArray*> inputs;
    for (const HostValueId id : node.inputs) {
      if (id == kAbsentValue) {
        inputs.push_back(nullptr);
        continue;
      }
      const auto known = found.find(id);
      const HostArray& array = known == found.end() ? network.values[id].array : known->second;
      const bool is_one = array.has_values() && array.tensor.elems() == 1;
      if (known == found.end() && !is_one) return std::nullopt;
      inputs.push_back(&array);
    }
    std::vector<HostArray> outputs = run_host_node(node, inputs);
    if (!outputs[0].has_values()) return std::nullopt;
    found[node.outputs[0]] = std::move(outputs[0]);
  }
  const auto last = found.find(result);
  if (last == found.end()) return std::nullopt;
  const Tensor& numbers = last->second.tensor;
  if (numbers.dtype != DType::kFloat32 || numbers.elems() != kBytes) return std::nullopt;
  const auto values = numbers.as<float>();
  const auto is_nan = [](float value) { return value != value; };
  if (std::ranges::any_of(values, is_nan)) return std::nullopt;
  return std::vector<float>(values.begin(), values.end());
}

}  // namespace qsim::golden
