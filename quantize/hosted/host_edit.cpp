#include "quantize/hosted/host_edit.h"

#include <algorithm>
#include <utility>

namespace qsim::quantize {
namespace {

template <typename T>
const T* attribute(const HostNode& node, std::string_view name) {
  const auto found = node.attributes.find(name);
  return found == node.attributes.end() ? nullptr : std::get_if<T>(&found->second);
}

}  // namespace

HostUses::HostUses(const HostNetwork& network)
    : makers_(network.values.size(), kNoNode),
      readers_(network.values.size()),
      is_input_(network.values.size(), false),
      is_output_(network.values.size(), false) {
  for (std::size_t n = 0; n < network.nodes.size(); ++n) {
    for (const HostValueId id : network.nodes[n].inputs) {
      if (id != kAbsentValue) readers_[id].push_back(n);
    }
    for (const HostValueId id : network.nodes[n].outputs) {
      if (id != kAbsentValue) makers_[id] = n;
    }
  }
  for (const HostValueId id : network.inputs) is_input_[id] = true;
  for (const HostValueId id : network.outputs) is_output_[id] = true;
}

std::size_t HostUses::only_reader(HostValueId id) const {
  return readers_[id].size() == 1 && !is_output_[id] ? readers_[id][0] : kNoNode;
}

bool is_real_tensor(const HostNetwork& network, HostValueId id) {
  if (id == kAbsentValue) return false;
  const HostArray& array = network.values[id].array;
  return array.known == HostArray::Known::kShape && array.tensor.dtype == DType::kFloat32 &&
         element_count(array.tensor.shape) > 0;
}

const Tensor* real_constant(const HostNetwork& network, HostValueId id) {
  if (id == kAbsentValue) return nullptr;
  const HostArray& array = network.values[id].array;
  const bool is_one = array.has_values() && array.tensor.dtype == DType::kFloat32;
  return is_one ? &array.tensor : nullptr;
}

HostValueId input_of(const HostNode& node, std::size_t index) {
  return index < node.inputs.size() ? node.inputs[index] : kAbsentValue;
}

bool is_onnx(const HostNode& node, std::string_view op) {
  return node.domain.empty() && node.op == op;
}

std::int64_t integer_of(const HostNode& node, std::string_view name, std::int64_t fallback) {
  const auto* found = attribute<std::int64_t>(node, name);
  return found == nullptr ? fallback : *found;
}

float real_of(const HostNode& node, std::string_view name, float fallback) {
  const auto* found = attribute<float>(node, name);
  return found == nullptr ? fallback : *found;
}

std::string word_of(const HostNode& node, std::string_view name, const char* fallback) {
  const auto* found = attribute<std::string>(node, name);
  return found == nullptr ? fallback : *found;
}

std::vector<std::int64_t> integers_of(const HostNode& node, std::string_view name) {
  const auto* found = attribute<std::vector<std::int64_t>>(node, name);
  return found == nullptr ? std::vector<std::int64_t>() : *found;
}

HostValues::HostValues(HostNetwork& network) : network_(network) {
  for (const HostValue& value : network.values) taken_.insert(value.name);
}

HostValueId HostValues::add(const std::string& wanted, HostArray array) {
  std::string name = wanted;
  for (int i = 2; !taken_.insert(name).second; ++i) name = wanted + "_" + std::to_string(i);
  network_.values.push_back({std::move(name), std::move(array)});
  return network_.values.size() - 1;
}

HostValueId HostValues::add_constant(const std::string& wanted, Tensor tensor) {
  return add(wanted, {HostArray::Known::kValues, std::move(tensor)});
}

void replace_value(HostNetwork& network, HostValueId from, HostValueId to) {
  for (HostNode& node : network.nodes) std::ranges::replace(node.inputs, from, to);
  std::ranges::replace(network.outputs, from, to);
}

void remove_unread(HostNetwork& network) {
  std::vector<bool> is_wanted(network.values.size(), false);
  for (const HostValueId id : network.outputs) is_wanted[id] = true;
  std::vector<HostNode> kept;
  for (std::size_t n = network.nodes.size(); n-- > 0;) {
    HostNode& node = network.nodes[n];
    const bool is_read = std::ranges::any_of(
        node.outputs, [&](HostValueId id) { return id != kAbsentValue && is_wanted[id]; });
    if (!is_read) continue;
    for (const HostValueId id : node.inputs) {
      if (id != kAbsentValue) is_wanted[id] = true;
    }
    kept.push_back(std::move(node));
  }
  std::ranges::reverse(kept);
  network.nodes = std::move(kept);
}

}  // namespace qsim::quantize
