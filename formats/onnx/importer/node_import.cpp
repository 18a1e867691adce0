#include "formats/onnx/importer/node_import.h"

#include <algorithm>

#include "core/base/checked_math.h"
#include "core/base/error.h"
#include "core/base/printable.h"

namespace qsim::formats {

void NodeImport::add(const ModelNode& node) {
  const NodeReader reader(model_, node);
  const bool is_left_out = reads_refused(node);
  if (is_left_out) refuse_outputs(node);
  if (is_left_out && is_known(node)) return;
  try {
    with_place(reader.location(), [&] { import(reader); });
  } catch (const Error& error) {
    if (error.code() != ExitCode::kUnsupportedModel) throw;
    refusals_.emplace_back(error.what());
    refuse_outputs(node);
  }
}

void NodeImport::throw_refusals() const {
  if (refusals_.empty()) return;
  std::string others;
  for (std::size_t i = 1; i < refusals_.size(); ++i) others += refusals_[i] + "\n";
  throw Error(ExitCode::kUnsupportedModel, refusals_[0], others);
}

std::string NodeImport::unknown_operators() const {
  std::string lines;
  for (const ModelNode& node : model_.nodes) {
    if (is_known(node)) continue;
    try {
      refuse_operator(NodeReader(model_, node));
    } catch (const Error& error) {
      lines += std::string(error.what()) + "\n";
    }
  }
  return lines;
}

bool NodeImport::is_known(const ModelNode& node) const {
  return rules_.find(*node.proto) != nullptr || is_folded_operator(*node.proto);
}

void NodeImport::refuse_operator(const NodeReader& node) const {
  const std::string& domain = node.node().proto->domain();
  node.refuse("operator " + echoed(domain) + (domain.empty() ? "" : " ") + echoed(node.op_type()),
              "those of " + std::string(rules_.page));
}

void NodeImport::require_one_output(const NodeReader& node) const {
  const auto& outputs = node.node().proto->output();
  const bool is_named = !outputs.empty() && !outputs.Get(0).empty();
  const auto counts = [&](const std::string& output) {
    if (output.empty()) return false;
    return !rules_.ignores_unread_outputs || model_.reads_of(output) > 0 ||
           output == model_.output->name();
  };
  if (is_named && std::none_of(outputs.begin() + 1, outputs.end(), counts)) return;
  node.refuse(std::to_string(outputs.size()) + " outputs", "one named output");
}

void NodeImport::import(const NodeReader& node) {
  if (!is_known(node.node())) refuse_operator(node);
  require_one_output(node);
  if (fold_constants(model_, node, rules_.shape_of)) return;
  const NodeRules::Operator add_layers = rules_.find(*node.node().proto);
  if (!add_layers) refuse_operator(node);
  add_layers(node);
}

bool NodeImport::reads_refused(const ModelNode& node) const {
  const auto& inputs = node.proto->input();
  return std::any_of(inputs.begin(), inputs.end(),
                     [&](const std::string& input) { return refused_.contains(input); });
}

void NodeImport::refuse_outputs(const ModelNode& node) {
  for (const std::string& output : node.proto->output()) refused_.insert(output);
}

}  // namespace qsim::formats
