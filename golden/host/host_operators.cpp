#include "golden/host/host_operators.h"

#include <algorithm>
#include <array>

#include "core/base/error.h"
#include "core/base/printable.h"

namespace qsim::golden {
namespace {

using Table = std::span<const HostOperator> (*)();
constexpr std::array<Table, 8> kTables = {
    elementwise_operators, axis_operators,    movement_operators,  product_operators,
    quantized_operators,   control_operators, attention_operators, signal_operators};

}  // namespace

const HostOperator* find_host_operator(const HostNode& node) {
  for (const Table table : kTables) {
    for (const HostOperator& row : table()) {
      if (row.name == node.op && row.domain == node.domain) return &row;
    }
  }
  return nullptr;
}

std::vector<const HostOperator*> host_operators() {
  std::vector<const HostOperator*> all;
  for (const Table table : kTables) {
    for (const HostOperator& row : table()) all.push_back(&row);
  }
  return all;
}

std::vector<HostArray> run_host_node(const HostNode& node,
                                     const std::vector<const HostArray*>& inputs,
                                     std::int64_t most_bytes) {
  const HostOperator* found = find_host_operator(node);
  if (found == nullptr) {
    throw_unsupported(node.source + ": operator " +
                      (node.domain.empty() ? "" : echoed(node.domain) + ".") + echoed(node.op) +
                      "; supported: those of docs/reference/host.md");
  }
  const auto is_unknown = [](const HostArray* input) {
    return input != nullptr && !input->has_shape();
  };
  if (!found->has_graphs && std::ranges::any_of(inputs, is_unknown)) {
    return std::vector<HostArray>(node.outputs.size());
  }
  HostCall call(node, inputs, most_bytes);
  try {
    found->run(call);
  } catch (const HostUnknown&) {
    return std::vector<HostArray>(node.outputs.size());
  } catch (const SizeOverflow& error) {
    throw_bad_input(node.source + ": " + error.what());
  }
  std::vector<HostArray> outputs = call.take_outputs();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (call.wants(i) && !outputs[i].has_shape() && !found->has_graphs) {
      call.malformed("output " + std::to_string(i), "no more outputs than the operator has");
    }
  }
  return outputs;
}

}  // namespace qsim::golden
