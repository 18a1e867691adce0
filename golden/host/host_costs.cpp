#include "golden/host/host_costs.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/base/checked_math.h"

namespace qsim::golden {
namespace {

constexpr std::array<std::string_view, 5> kConvolutions = {"Conv", "ConvInteger", "QLinearConv",
                                                           "FusedConv", "ConvTranspose"};
constexpr std::array<std::string_view, 9> kProducts = {
    "MatMul",      "Gemm",      "MatMulInteger",        "QLinearMatMul",        "QGemm",
    "FusedMatMul", "FusedGemm", "MatMulIntegerToFloat", "DynamicQuantizeMatMul"};

template <std::size_t size>
bool is_one_of(std::string_view op, const std::array<std::string_view, size>& names) {
  return std::ranges::find(names, op) != names.end();
}

const Shape* shape_of(const HostNetwork& network, const std::vector<HostValueId>& ids,
                      std::size_t index) {
  if (index >= ids.size() || ids[index] == kAbsentValue) return nullptr;
  const HostArray& array = network.values[ids[index]].array;
  return array.has_shape() ? &array.tensor.shape : nullptr;
}

std::int64_t known_elements(const Shape* shape) {
  return shape == nullptr ? 0 : element_count(*shape);
}

}  // namespace

std::int64_t host_operations(const HostNetwork& network, const HostNode& node) {
  const Shape* const input = shape_of(network, node.inputs, 0);
  const Shape* const output = shape_of(network, node.outputs, 0);
  if (input == nullptr || output == nullptr) return 0;
  if (is_one_of(node.op, kConvolutions)) {
    const Shape* const weights = shape_of(network, node.inputs, node.op == "QLinearConv" ? 3 : 1);
    if (weights == nullptr || weights->empty() || (*weights)[0] == 0) return 0;
    // Each output has a product for each weight of its channel, each input of a transposed
    // convolution one for each weight of its own.
    const Shape* const side = node.op == "ConvTranspose" ? input : output;
    return known_elements(side) * (known_elements(weights) / (*weights)[0]);
  }
  if (is_one_of(node.op, kProducts) && !input->empty()) {
    const auto transposed = node.attributes.find("transA");
    const bool is_turned = transposed != node.attributes.end() &&
                           std::holds_alternative<std::int64_t>(transposed->second) &&
                           std::get<std::int64_t>(transposed->second) != 0 && input->size() == 2;
    return known_elements(output) * (is_turned ? input->front() : input->back());
  }
  std::int64_t most = known_elements(output);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    most = std::max(most, known_elements(shape_of(network, node.inputs, i)));
  }
  return most;
}

std::int64_t value_bytes(const HostValue& value) {
  if (!value.array.has_shape()) return 0;
  return element_count(value.array.tensor.shape) *
         static_cast<std::int64_t>(dtype_bytes(value.array.tensor.dtype));
}

std::int64_t host_bytes(const HostNetwork& network, const HostNode& node) {
  std::int64_t bytes = 0;
  for (const auto* ids : {&node.inputs, &node.outputs}) {
    for (const HostValueId id : *ids) {
      if (id != kAbsentValue) bytes += value_bytes(network.values[id]);
    }
  }
  return bytes;
}

std::int64_t run_bytes(const HostNetwork& network) {
  std::int64_t bytes = 0;
  for (const HostValue& value : network.values) {
    if (!value.array.has_values()) bytes = checked_add(bytes, value_bytes(value));
  }
  return bytes;
}

}  // namespace qsim::golden
