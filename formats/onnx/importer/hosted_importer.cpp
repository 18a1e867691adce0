#include "formats/onnx/importer/hosted_importer.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/error.h"
#include "core/base/printable.h"
#include "formats/onnx/importer/float_nodes.h"
#include "formats/onnx/importer/form_of_model.h"
#include "formats/onnx/importer/hosted_constants.h"
#include "formats/onnx/importer/hosted_fusion.h"
#include "formats/onnx/importer/hosted_parts.h"
#include "formats/onnx/importer/import_nodes.h"
#include "formats/onnx/importer/model_file.h"
#include "formats/onnx/importer/model_graph.h"
#include "formats/onnx/importer/part_rewrites.h"
#include "formats/onnx/importer/part_views.h"
#include "formats/onnx/importer/phase_convolutions.h"
#include "formats/onnx/importer/quant_nodes.h"
#include "formats/onnx/importer/real_importer.h"
#include "formats/onnx/importer/session_rewrites.h"
#include "formats/onnx/importer/session_weights.h"
#include "formats/onnx/importer/stand_ins.h"
#include "formats/onnx/types/element_types.h"

namespace qsim::formats {
namespace {

void require_form(const ModelFile& file, const ModelGraph& model) {
  const auto require_float = [&] { static_cast<void>(import_real_onnx(file.held)); };
  require_quantized_form(model, model.nodes, RunBy::kArrayAndHost, require_float);
}

class HostedImport {
 public:
  HostedImport(const ModelFile& file, const HostedOptions& options)
      : options_(options), model_(read_model_graph(file)) {
    replace_quant_nodes(model_);
    require_form(file, model_);
    std::erase_if(model_.nodes,
                  [](const ModelNode& node) { return node.proto->output_size() == 0; });
    std::vector<ModelNode> nodes = model_.nodes;
    rewrite_as_session(model_, nodes);
    read_network();
  }

  HostedNetwork run() && {
    widened_ = widen_constants(model_, network());
    name_constants(model_, network());
    if (quantize_session_weights(model_)) read_network();
    find_float_nodes();
    find_units();
    rewrite_convolutions();
    for (;;) {
      std::vector<PartPlan> plans = plan_parts(network(), units_);
      if (import_parts(plans)) break;
    }
    hosted_.network.nodes = std::move(fused_nodes_);
    add_steps(hosted_, units_);
    return std::move(hosted_);
  }

 private:
  const HostNetwork& network() const { return hosted_.network; }

  void read_network() {
    hosted_.network = import_host_network(*model_.file, model_, options_.host);
    options_.fold_and_shape(hosted_.network);
  }

  void find_units() {
    ids_.clear();
    for (HostValueId id = 0; id < network().values.size(); ++id) {
      ids_[network().values[id].name] = id;
    }
    units_ = levels_units(network());
    for (LevelsUnit& unit : units_) {
      const auto move = moves_.find(network().nodes[unit.nodes.front()].index);
      if (move != moves_.end()) unit.reason = move->second;
    }
    std::set<int> float_nodes;
    for (const auto& [index, reason] : float_reasons_) float_nodes.insert(index);
    const std::vector<HostNode> nodes = network().nodes;
    fuse_host_groups(hosted_.network, float_nodes);
    fused_nodes_ = std::exchange(hosted_.network.nodes, nodes);
    keep_offsets();
    if (options_.as_onnxruntime) leave_float_nodes();
    try_each();
  }

  // ONNX Runtime rounds a sum or mean as the file has it, whatever moves are added beside it.
  void keep_offsets() {
    for (HostNode& node : fused_nodes_) {
      if (node.attributes.contains(kLevelsOffset)) {
        offsets_.insert(node.index);
      } else if (node.op.starts_with("QLinear") && offsets_.contains(node.index)) {
        node.attributes[kLevelsOffset] = std::int64_t{128};
      }
    }
  }

  // Rewrites the convolutions that the array refuses as they are. One that it refuses after that
  // too stays as it was.
  void rewrite_convolutions() {
    std::set<int> wanted = refused_convolutions();
    while (!wanted.empty()) {
      const std::optional<std::set<int>> found = rewrite_together(wanted);
      if (found == wanted || (!found && wanted.size() == 1)) return;
      if (found) {
        wanted = *found;
        continue;
      }
      std::set<int> alone;  // one that is refused must not take the others with it
      for (const int index : wanted) {
        const std::optional<std::set<int>> one = rewrite_together({index});
        if (!one || one->empty()) continue;
        alone.insert(index);
        undo_rewrite();
      }
      if (alone == wanted) return;
      wanted = std::move(alone);
    }
  }

  // Those of `wanted` that the array has once they are rewritten; nothing where the network does
  // not fit its limits then. Undone, unless these are all of `wanted`.
  std::optional<std::set<int>> rewrite_together(const std::set<int>& wanted) {
    before_ = {model_.nodes, model_.reads};
    PhaseConvolutions made = rewrite_by_phases(model_, network(), wanted);
    std::set<int> found;
    if (made.convolutions.empty()) return found;
    moves_ = std::move(made.moves);
    try {
      read_network();
      find_units();
      std::ranges::set_difference(made.convolutions, refused_convolutions(),
                                  std::inserter(found, found.end()));
    } catch (const Error&) {
      undo_rewrite();
      return std::nullopt;
    }
    if (found != wanted) undo_rewrite();
    return found;
  }

  void undo_rewrite() {
    std::tie(model_.nodes, model_.reads) = before_;
    moves_.clear();
    read_network();
    find_units();
  }

  // The convolutions among the refused units, by the file's numbers.
  std::set<int> refused_convolutions() const {
    std::set<int> found;
    for (const std::size_t u : refused_) {
      for (const std::size_t n : units_[u].nodes) {
        const std::string& op = network().nodes[n].op;
        const bool is_turned = op == "ConvTranspose" && !options_.as_onnxruntime;
        if (is_turned || op == "Conv" || op == "QLinearConv") {
          found.insert(network().nodes[n].index);
        }
      }
    }
    return found;
  }

  void find_float_nodes() {
    for (const FloatNode& node : float_nodes(model_, model_.nodes)) {
      float_reasons_[node.index] = node.reason;
    }
  }

  void leave_float_nodes() {
    const std::set<std::size_t> has_other_bias = nodes_with_other_bias(network());
    for (LevelsUnit& unit : units_) {
      for (const std::size_t n : unit.nodes) {
        const HostNode& node = network().nodes[n];
        const auto found = float_reasons_.find(node.index);
        if (found != float_reasons_.end() && unit.reason.empty()) {
          unit.reason = "ONNX Runtime runs it in float32: " + found->second;
        } else if (node.op == "ConvTranspose" && unit.reason.empty()) {
          unit.reason = "ONNX Runtime runs it in float32: it has no quantized form of it";
        } else if (is_mean_of_windows(node) && unit.reason.empty()) {
          unit.reason = "ONNX Runtime sums a window's float32 numbers in an order of its own";
        } else if (unit.reason.empty() && reads_widened(node)) {
          unit.reason = "ONNX Runtime has no quantized form for constants of these types";
        } else if (unit.reason.empty() && has_other_bias.contains(n)) {
          unit.reason =
              "ONNX Runtime runs it in float32: its bias is not int32 of x_scale * w_scale";
        }
      }
    }
  }

  bool reads_widened(const HostNode& node) const {
    return std::ranges::any_of(node.inputs, [&](HostValueId id) {
      return id != kAbsentValue && widened_.contains(network().values[id].name);
    });
  }

  static bool is_mean_of_windows(const HostNode& node) {
    return node.op == "AveragePool" || node.op == "QLinearAveragePool";
  }

  // Units of one source are tried alone first, so that the parts begin with what the array has.
  // What only moves or names elements is left to the part that it is in.
  void try_each() {
    stand_ins_.clear();
    refused_.clear();
    std::map<HostValueId, std::size_t> unit_of;
    for (std::size_t u = 0; u < units_.size(); ++u) {
      LevelsUnit& unit = units_[u];
      unit_of[unit.output] = u;
      if (is_view(unit)) continue;
      const bool is_of_one = unit.sources.size() == 1;
      const bool is_tried = is_of_one && unit.reason.empty();
      if (is_tried && import({unit.sources[0], unit.output, {u}}, unit.reason)) continue;
      try_stand_in(u, unit_of);
      if (is_tried && !unit.reason.empty()) refused_.insert(u);
    }
  }

  // A unit that the array does not have as it is, but by other nodes.
  void try_stand_in(std::size_t u, const std::map<HostValueId, std::size_t>& unit_of) {
    LevelsUnit root = units_[u];
    if (!reach_root(root, unit_of) || shape_of(root.sources[0]) != shape_of(root.output)) return;
    std::optional<StandIn> found =
        table_stand_in(network(), fused_nodes_, root, options_.levels_function);
    if (!found && !options_.as_onnxruntime) found = affine_stand_in(network(), root);
    if (!found) return;
    stand_ins_[u] = std::move(*found);
    std::string reason;
    if (import({root.sources[0], root.output, {u}}, reason)) {
      units_[u].sources = root.sources;
      units_[u].reason.clear();
    } else {
      stand_ins_.erase(u);
    }
  }

  // A unit may read several tensors which are all functions of one tensor's levels, or that tensor
  // itself. Makes it the unit of that tensor, with the nodes of all; false for another unit.
  bool reach_root(LevelsUnit& unit, const std::map<HostValueId, std::size_t>& unit_of) const {
    std::set<HostValueId> sources(unit.sources.begin(), unit.sources.end());
    std::set<std::size_t> nodes(unit.nodes.begin(), unit.nodes.end());
    while (sources.size() > 1) {
      const HostValueId last = *std::ranges::max_element(sources, {}, [&](HostValueId id) {
        const auto found = unit_of.find(id);
        return found == unit_of.end() ? 0 : found->second + 1;
      });
      const auto maker = unit_of.find(last);
      if (maker == unit_of.end()) return false;
      const LevelsUnit& before = units_[maker->second];
      if (before.sources.size() > 1) return false;
      nodes.insert(before.nodes.begin(), before.nodes.end());
      sources.erase(last);
      sources.insert(before.sources.begin(), before.sources.end());
    }
    if (sources.empty()) return false;
    unit.sources.assign(sources.begin(), sources.end());
    unit.nodes.assign(nodes.begin(), nodes.end());
    return true;
  }

  bool is_view(const LevelsUnit& unit) const {
    return std::ranges::all_of(unit.nodes, [&](std::size_t n) {
      const HostNode& node = network().nodes[n];
      const std::string& op = node.op;
      if (op == "Concat") return node.inputs.size() == 1;
      return op == "QuantizeLinear" || op == "DequantizeLinear" || only_reshapes(op);
    });
  }

  // False where a unit got a reason. Parts that stay as they are from one round to the next are
  // imported once.
  bool import_parts(const std::vector<PartPlan>& plans) {
    hosted_.parts.clear();
    bool all_can = true;
    for (const PartPlan& plan : plans) {
      std::optional<Graph>& known = imported_[{plan.input, plan.units}];
      if (!known) {
        std::string reason;
        known = import(plan, reason);
      }
      if (!known) {
        blame(plan);
      } else if (!has_work(*known)) {
        for (const std::size_t u : plan.units) {
          units_[u].reason = "around it the array has no layer that multiplies, adds or pools";
        }
      } else {
        add_part(plan, *known);
        continue;
      }
      all_can = false;
    }
    return all_can;
  }

  void add_part(const PartPlan& plan, const Graph& graph) {
    ArrayPart part;
    part.graph = graph;
    part.input = plan.input;
    part.output = plan.output;
    std::set<std::size_t> nodes;
    for (const std::size_t u : plan.units) {
      nodes.insert(units_[u].nodes.begin(), units_[u].nodes.end());
    }
    part.nodes.assign(nodes.begin(), nodes.end());
    hosted_.parts.push_back(std::move(part));
  }

  // A unit is the host's with which a part cannot be imported that can be without it.
  void blame(const PartPlan& plan) {
    const auto first = [&](std::size_t count) {
      PartPlan some = {plan.input, units_[plan.units[count - 1]].output, {}};
      some.units.assign(plan.units.begin(),
                        plan.units.begin() + static_cast<std::ptrdiff_t>(count));
      return some;
    };
    std::size_t good = 0;
    std::size_t bad = plan.units.size();
    std::string reason;
    static_cast<void>(import(plan, reason));
    while (bad - good > 1) {
      const std::size_t middle = good + (bad - good) / 2;
      std::string found;
      if (import(first(middle), found)) {
        good = middle;
      } else {
        bad = middle;
        reason = std::move(found);
      }
    }
    QSIM_CHECK(!reason.empty(), "a part that cannot be imported has a unit that cannot");
    units_[plan.units[bad - 1]].reason = std::move(reason);
  }

  static bool has_work(const Graph& graph) {
    return std::ranges::any_of(graph.layers, [](const Layer& layer) {
      return std::holds_alternative<Conv2d>(layer.operation) ||
             std::holds_alternative<FullyConnected>(layer.operation) ||
             std::holds_alternative<MaxPool>(layer.operation) ||
             std::holds_alternative<AveragePool>(layer.operation) ||
             std::holds_alternative<Add>(layer.operation);
    });
  }

  // The graph of some units; nothing, and the reason, where the array cannot run it.
  std::optional<Graph> import(const PartPlan& plan, std::string& reason) {
    ModelGraph part = model_.borrowed();
    std::set<int> indices;
    for (const std::size_t u : plan.units) {
      const auto stand_in = stand_ins_.find(u);
      if (stand_in == stand_ins_.end()) {
        for (const std::size_t n : units_[u].nodes) indices.insert(network().nodes[n].index);
      } else {
        for (const std::size_t n : stand_in->second.kept) indices.insert(network().nodes[n].index);
      }
    }
    std::erase_if(part.nodes, [&](const ModelNode& node) { return !indices.contains(node.index); });
    for (const std::size_t u : plan.units) {
      const auto stand_in = stand_ins_.find(u);
      if (stand_in != stand_ins_.end()) stand_in->second.add_to(part);
    }
    part.reads.clear();
    for (const ModelNode& node : part.nodes) {
      for (const std::string& input : reads_of(*node.proto)) ++part.reads[input];
    }
    const PartView view = view_of(part.nodes, shape_of(plan.input), shape_of(plan.output))
                              .value_or(PartView::kAsItIs);
    const onnx::ValueInfoProto input = end_of(plan.input, view);
    const onnx::ValueInfoProto output = end_of(plan.output, view);
    part.input = &input;
    part.output = &output;
    ImportOptions options = options_.import;
    options.batch = 1;  // the ends have numbers
    options.on_float_node = {};
    options.quantizes_before_moves = !options_.as_onnxruntime;
    try {
      rewrite_part(part, view, [&](const std::string& name) { return known_value(name); });
      Graph graph = with_place(model_.source,
                               [&] { return import_nodes(part, nodes_in_order(part), options); });
      // A part without work is the host's whatever the array would say.
      reason = has_work(graph) ? without_file(options_.refusal(graph)) : std::string();
      return reason.empty() ? std::optional(std::move(graph)) : std::nullopt;
    } catch (const Error& error) {
      reason = without_file(error.what());
      return std::nullopt;
    }
  }

  // "node 'add1' (Add): ..." without the file before it.
  std::string without_file(std::string reason) const {
    const std::string file = model_.source + ": ";
    if (reason.starts_with(file)) reason.erase(0, file.size());
    return reason;
  }

  const Shape& shape_of(HostValueId id) const { return network().values[id].array.tensor.shape; }

  const Tensor* known_value(const std::string& name) const {
    const auto found = ids_.find(name);
    if (found == ids_.end() || !network().values[found->second].array.has_values()) return nullptr;
    return &network().values[found->second].array.tensor;
  }

  onnx::ValueInfoProto end_of(HostValueId id, PartView view) const {
    const HostValue& value = network().values[id];
    onnx::ValueInfoProto info;
    info.set_name(value.name);
    onnx::TypeProto::Tensor& type = *info.mutable_type()->mutable_tensor_type();
    type.set_elem_type(onnx_dtype(value.array.tensor.dtype));
    for (const std::int64_t dim : viewed(value.array.tensor.shape, view)) {
      type.mutable_shape()->add_dim()->set_dim_value(dim);
    }
    return info;
  }

  const HostedOptions& options_;
  ModelGraph model_;
  HostedNetwork hosted_;
  std::vector<LevelsUnit> units_;
  std::vector<HostNode> fused_nodes_;  // as ONNX Runtime runs them, one for each of the network's
  std::map<std::size_t, StandIn> stand_ins_;  // of units that are written otherwise
  std::set<std::size_t> refused_;             // units of one source that the array does not have
  std::set<int> offsets_;                     // nodes with a kLevelsOffset
  std::map<int, std::string> moves_;          // what each does, by the number of a node
  std::pair<decltype(ModelGraph::nodes), decltype(ModelGraph::reads)> before_;  // a rewrite
  std::set<std::string, std::less<>> widened_;  // constants that had a narrower type
  std::map<std::string, HostValueId> ids_;
  std::map<std::pair<HostValueId, std::vector<std::size_t>>, std::optional<Graph>> imported_;
  std::map<int, std::string> float_reasons_;  // by the file's number of a node
};

}  // namespace

void require_hosted_form(const std::shared_ptr<const HeldFile>& held) {
  const std::unique_ptr<const ModelFile> file = read_model_file(held);
  ModelGraph model = read_model_graph(*file);
  replace_quant_nodes(model);
  require_form(*file, model);
}

HostedNetwork import_hosted(const std::shared_ptr<const HeldFile>& held,
                            const HostedOptions& options) {
  const std::unique_ptr<const ModelFile> file = read_model_file(held, options.import.on_external);
  HostedNetwork hosted = HostedImport(*file, options).run();
  held->require_unchanged();
  return hosted;
}

HostedNetwork import_on_host(const std::shared_ptr<const HeldFile>& held,
                             const HostedOptions& options) {
  const std::unique_ptr<const ModelFile> file = read_model_file(held, options.import.on_external);
  HostedNetwork hosted;
  hosted.network = import_host_network(*file, options.host);
  options.fold_and_shape(hosted.network);
  add_steps(hosted, {});
  held->require_unchanged();
  return hosted;
}

}  // namespace qsim::formats
