#include "golden/host/levels_function.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <string_view>

#include "core/base/error.h"
#include "golden/host/host_operators.h"

namespace qsim::golden {
namespace {

constexpr std::int64_t kBytes = 256;

// The elementwise operators on levels.
constexpr std::array<std::string_view, 7> kOnLevels = {
    "DequantizeLinear", "QuantizeLinear", "QLinearAdd",  "QLinearMul",
    "QLinearLeakyRelu", "QLinearSigmoid", "QLinearWhere"};

bool is_elementwise(const HostNode& node) {
  if (std::ranges::find(kOnLevels, node.op) != kOnLevels.end()) return true;
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

// None where the node cannot run on a list of levels.
std::vector<HostArray> outputs_of(const HostNode& node,
                                  const std::vector<const HostArray*>& inputs) {
  try {
    return run_host_node(node, inputs);
  } catch (const Error&) {
    return {};
  }
}

bool has_nan(const Tensor& tensor) {
  return tensor.dtype == DType::kFloat32 &&
         std::ranges::any_of(tensor.as<float>(), [](float value) { return value != value; });
}

}  // namespace

std::optional<Tensor> levels_function(const HostNetwork& network,
                                      const std::vector<const HostNode*>& nodes, HostValueId source,
                                      HostValueId result) {
  std::map<HostValueId, HostArray> found;
  found[source] = every_byte(network.values[source].array.tensor.dtype);
  for (const HostNode* const node : nodes) {
    if (!is_elementwise(*node) || node->outputs.size() != 1) return std::nullopt;
    std::vector<const HostArray*> inputs;
    std::deque<HostArray> numbers;  // constants, as numbers without axes
    for (const HostValueId id : node->inputs) {
      if (id == kAbsentValue) {
        inputs.push_back(nullptr);
        continue;
      }
      if (const auto known = found.find(id); known != found.end()) {
        inputs.push_back(&known->second);
        continue;
      }
      const HostArray& array = network.values[id].array;
      if (!array.has_values() || array.tensor.elems() != 1) return std::nullopt;
      numbers.push_back(array);
      numbers.back().tensor.shape.clear();
      inputs.push_back(&numbers.back());
    }
    std::vector<HostArray> outputs = outputs_of(*node, inputs);
    if (outputs.empty()) return std::nullopt;
    if (!outputs[0].has_values() || has_nan(outputs[0].tensor)) return std::nullopt;
    found[node->outputs[0]] = std::move(outputs[0]);
  }
  const auto last = found.find(result);
  if (last == found.end() || last->second.tensor.elems() != kBytes) return std::nullopt;
  Tensor levels = std::move(last->second.tensor);
  levels.shape = {kBytes};
  return levels;
}

}  // namespace qsim::golden
