#include "golden/host/host_executor.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/base/printable.h"
#include "golden/host/host_operators.h"

namespace qsim::golden {
namespace {

// Constants that are computed before a run, together; those beyond are computed in it. The largest
// networks' weights, dequantized, are as large.
constexpr std::int64_t kMostFoldedBytes = std::int64_t{2} << 30;

std::vector<const HostArray*> inputs_of(const HostNetwork& network, const HostNode& node) {
  std::vector<const HostArray*> inputs;
  for (const HostValueId id : node.inputs) {
    inputs.push_back(id == kAbsentValue ? nullptr : &network.values[id].array);
  }
  return inputs;
}

}  // namespace

namespace {

// Folds the graphs inside a node: what they know without knowing what they read.
void fold_bodies(HostNode& node) {
  for (auto& [name, attribute] : node.attributes) {
    auto* const body = std::get_if<HostBody>(&attribute);
    if (body == nullptr) continue;
    HostNetwork folded = *body->network;
    fold_and_shape(folded);
    body->network = std::make_shared<const HostNetwork>(std::move(folded));
  }
}

}  // namespace

void fold_and_shape(HostNetwork& network) {
  for (HostNode& node : network.nodes) fold_bodies(node);
  shape_again(network);
}

void shape_again(HostNetwork& network) {
  std::int64_t left = kMostFoldedBytes;
  for (const HostNode& node : network.nodes) {
    std::vector<HostArray> found = run_host_node(node, inputs_of(network, node), left);
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (node.outputs[i] == kAbsentValue) continue;
      left -= std::ssize(found[i].tensor.bytes);
      network.values[node.outputs[i]].array = std::move(found[i]);
    }
  }
}

HostRun::HostRun(const HostNetwork& network)
    : network_(network), values_(network.values.size()), lent_(network.values.size(), nullptr) {}

void HostRun::lend(HostValueId id, const HostArray& array) { lent_[id] = &array; }

const HostArray& HostRun::array(HostValueId id) const {
  if (values_[id].has_values()) return values_[id];
  return lent_[id] != nullptr ? *lent_[id] : network_.values[id].array;
}

void HostRun::set(HostValueId id, Tensor tensor) {
  const HostValue& value = network_.values[id];
  const Tensor& declared = value.array.tensor;
  if (value.array.has_shape() &&
      (tensor.dtype != declared.dtype || tensor.shape != declared.shape)) {
    throw_bad_input("'" + echoed(value.name) + "' is " + std::string(dtype_name(tensor.dtype)) +
                    " " + shape_text(tensor.shape) + "; expected " +
                    std::string(dtype_name(declared.dtype)) + " " + shape_text(declared.shape));
  }
  values_[id] = {HostArray::Known::kValues, std::move(tensor)};
}

const Tensor& HostRun::get(HostValueId id) const {
  QSIM_CHECK(array(id).has_values(), "'" + network_.values[id].name + "' was computed");
  return array(id).tensor;
}

void HostRun::run(const HostNode& node) {
  if (is_folded(network_, node)) return;
  std::vector<const HostArray*> inputs;
  for (const HostValueId id : node.inputs) {
    inputs.push_back(id == kAbsentValue ? nullptr : &array(id));
    QSIM_CHECK(id == kAbsentValue || inputs.back()->has_values(),
               "what a node reads was computed before it");
  }
  std::vector<HostArray> found = run_host_node(node, inputs);
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (node.outputs[i] == kAbsentValue) continue;
    QSIM_CHECK(found[i].has_values(), node.source + ": output " + std::to_string(i));
    values_[node.outputs[i]] = std::move(found[i]);
  }
}

std::vector<Tensor> run_host_network(const HostNetwork& network, std::vector<Tensor> inputs) {
  QSIM_CHECK(inputs.size() == network.inputs.size(), "an input for each");
  HostRun run(network);
  for (std::size_t i = 0; i < inputs.size(); ++i) run.set(network.inputs[i], std::move(inputs[i]));
  for (const HostNode& node : network.nodes) run.run(node);
  std::vector<Tensor> outputs;
  for (const HostValueId id : network.outputs) outputs.push_back(run.get(id));
  return outputs;
}

}  // namespace qsim::golden
