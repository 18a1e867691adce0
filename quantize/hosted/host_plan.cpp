#include "quantize/hosted/host_plan.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

#include "quantize/hosted/host_edit.h"

namespace qsim::quantize {
namespace {

enum class Role : std::uint8_t { kFloat, kProduct, kSum, kPool, kMove, kElementwise };

constexpr std::array<std::string_view, 4> kProducts = {"Conv", "ConvTranspose", "Gemm", "MatMul"};
constexpr std::array<std::string_view, 3> kSums = {"Add", "Sub", "Mul"};
constexpr std::array<std::string_view, 40> kElementwise = {"Abs",
                                                           "Add",
                                                           "BatchNormalization",
                                                           "Ceil",
                                                           "Celu",
                                                           "Clip",
                                                           "Cos",
                                                           "Div",
                                                           "Elu",
                                                           "Erf",
                                                           "Exp",
                                                           "Floor",
                                                           "Gelu",
                                                           "HardSigmoid",
                                                           "HardSwish",
                                                           "LeakyRelu",
                                                           "Log",
                                                           "Max",
                                                           "Min",
                                                           "Mish",
                                                           "Mul",
                                                           "Neg",
                                                           "PRelu",
                                                           "Pow",
                                                           "Reciprocal",
                                                           "Relu",
                                                           "Round",
                                                           "Selu",
                                                           "Shrink",
                                                           "Sigmoid",
                                                           "Sign",
                                                           "Sin",
                                                           "Softplus",
                                                           "Softsign",
                                                           "Sqrt",
                                                           "Sub",
                                                           "Swish",
                                                           "Tan",
                                                           "Tanh",
                                                           "ThresholdedRelu"};
constexpr std::array<std::string_view, 4> kMicrosoftElementwise = {"BiasGelu", "FastGelu", "Gelu",
                                                                   "QuickGelu"};
constexpr std::array<std::string_view, 16> kMoves = {
    "Concat",  "DepthToSpace", "Flatten",   "Gather",  "GlobalMaxPool", "MaxPool",
    "Pad",     "Reshape",      "Resize",    "Slice",   "SpaceToDepth",  "Split",
    "Squeeze", "Transpose",    "Unsqueeze", "Upsample"};
constexpr std::array<std::string_view, 10> kReductions = {
    "ReduceL1",   "ReduceL2",  "ReduceLogSum", "ReduceLogSumExp", "ReduceMax",
    "ReduceMean", "ReduceMin", "ReduceProd",   "ReduceSum",       "ReduceSumSquare"};

template <std::size_t size>
bool is_one_of(std::string_view op, const std::array<std::string_view, size>& names) {
  return std::ranges::find(names, op) != names.end();
}

class Planner {
 public:
  explicit Planner(const HostNetwork& network)
      : network_(network),
        uses_(network),
        roles_(network.nodes.size(), Role::kFloat),
        root_(network.values.size()),
        is_statistic_(network.values.size(), false),
        link_(network.values.size()),
        is_wanted_(network.values.size(), false) {
    std::iota(root_.begin(), root_.end(), HostValueId{0});
    std::iota(link_.begin(), link_.end(), HostValueId{0});
    plan_.is_moved.assign(network.values.size(), false);
    plan_.group_of.resize(network.values.size());
  }

  HostPlan run() && {
    for (std::size_t n = 0; n < network_.nodes.size(); ++n) {
      const HostNode& node = network_.nodes[n];
      const bool is_real = !node.outputs.empty() && is_real_tensor(network_, node.outputs[0]);
      if (is_real) roles_[n] = role_of(node);
      if (roles_[n] == Role::kMove) link(node);
    }
    for (std::size_t n = 0; n < network_.nodes.size(); ++n) want(n);
    make_groups();
    return std::move(plan_);
  }

 private:
  bool is_real(HostValueId id) const { return is_real_tensor(network_, id); }
  bool is_constant(HostValueId id) const {
    return id == kAbsentValue || network_.values[id].array.has_values();
  }
  const Shape& shape_of(HostValueId id) const { return network_.values[id].array.tensor.shape; }

  std::vector<HostValueId> real_operands(const HostNode& node) const {
    std::vector<HostValueId> found;
    for (const HostValueId id : node.inputs) {
      if (is_real(id)) found.push_back(id);
    }
    return found;
  }

  // Also says what the node's output is a function of.
  Role role_of(const HostNode& node) {
    const std::vector<HostValueId> operands = real_operands(node);
    if (operands.empty()) return Role::kFloat;
    if (is_product(node)) return Role::kProduct;
    if (node.domain.empty() && is_one_of(node.op, kReductions)) return role_of_reduction(node);
    if (is_move(node)) {
      is_statistic_[node.outputs[0]] = is_statistic_[operands[0]];
      return Role::kMove;
    }
    if (is_onnx(node, "AveragePool") || is_onnx(node, "GlobalAveragePool")) return Role::kPool;
    if (is_onnx(node, "Expand")) is_statistic_[node.outputs[0]] = is_statistic_[operands[0]];
    const auto& names = kElementwise;
    const bool is_known =
        node.domain.empty() ? is_one_of(node.op, names) : is_one_of(node.op, kMicrosoftElementwise);
    return is_known ? role_of_function(node, operands) : Role::kFloat;
  }

  Role role_of_function(const HostNode& node, const std::vector<HostValueId>& operands) {
    const bool reads_unknown = std::ranges::any_of(
        node.inputs, [&](HostValueId id) { return !is_real(id) && !is_constant(id); });
    if (reads_unknown) return Role::kFloat;
    const HostValueId out = node.outputs[0];
    const auto is_of_statistic = [&](HostValueId id) { return is_statistic_[id]; };
    is_statistic_[out] = std::ranges::all_of(operands, is_of_statistic);
    const HostValueId root = root_[operands[0]];
    const bool is_function =
        std::ranges::all_of(operands, [&](HostValueId id) { return root_[id] == root; });
    if (is_function) {
      root_[out] = root;
      return Role::kElementwise;
    }
    // Pieces of a normalization.
    if (std::ranges::any_of(operands, is_of_statistic)) return Role::kFloat;
    const bool is_sum = operands.size() == 2 && node.inputs.size() == 2 && node.domain.empty() &&
                        is_one_of(node.op, kSums);
    return is_sum ? Role::kSum : Role::kFloat;
  }

  bool is_product(const HostNode& node) const {
    if (!node.domain.empty() || !is_one_of(node.op, kProducts)) return false;
    if (product_weights(network_, node)) return true;
    // For a product of two tensors, and for a Gemm's constant bias.
    const bool has_factors = real_of(node, "alpha", 1) != 1 || real_of(node, "beta", 1) != 1;
    return (node.op == "MatMul" || (node.op == "Gemm" && !has_factors)) &&
           is_real(node.inputs[0]) && is_real(node.inputs[1]) && is_constant(input_of(node, 2));
  }

  // A mean over a picture is a pool, unless it is a piece of a normalization; others are float.
  Role role_of_reduction(const HostNode& node) {
    const HostValueId read = node.inputs[0];
    if (is_onnx(node, "ReduceMean") && is_over_picture(node) && !centres(node)) return Role::kPool;
    is_statistic_[node.outputs[0]] = is_real(read);
    return Role::kFloat;
  }

  bool is_over_picture(const HostNode& node) const {
    const std::int64_t rank = std::ssize(shape_of(node.inputs[0]));
    if (rank < 3) return false;
    std::vector<std::int64_t> axes = integers_of(node, "axes");
    const HostValueId given = input_of(node, 1);
    if (given != kAbsentValue) {
      const HostArray& array = network_.values[given].array;
      if (!array.has_values() || array.tensor.dtype != DType::kInt64) return false;
      const auto numbers = array.tensor.as<std::int64_t>();
      axes.assign(numbers.begin(), numbers.end());
    }
    for (std::int64_t& axis : axes) axis += axis < 0 ? rank : 0;
    std::ranges::sort(axes);
    std::vector<std::int64_t> picture(static_cast<std::size_t>(rank - 2));
    std::iota(picture.begin(), picture.end(), std::int64_t{2});
    return rank > 3 && axes == picture;
  }

  // Whether the mean is subtracted from what it is of.
  bool centres(const HostNode& mean) const {
    return std::ranges::any_of(uses_.readers(mean.outputs[0]), [&](std::size_t reader) {
      const HostNode& node = network_.nodes[reader];
      return is_onnx(node, "Sub") &&
             std::ranges::find(node.inputs, mean.inputs[0]) != node.inputs.end();
    });
  }

  bool is_move(const HostNode& node) const {
    if (!node.domain.empty() || !is_one_of(node.op, kMoves)) return false;
    if (node.op != "Concat" && !is_real(node.inputs[0])) return false;
    if (node.op == "Resize" || node.op == "Upsample") {
      return word_of(node, "mode", "nearest") == "nearest";
    }
    return node.op != "Pad" || word_of(node, "mode", "constant") != "constant" ||
           pads_by_zero(node);
  }

  bool pads_by_zero(const HostNode& pad) const {
    const HostValueId id = input_of(pad, 2);
    if (id == kAbsentValue) return real_of(pad, "value", 0) == 0;
    const Tensor* const value = real_constant(network_, id);
    return value != nullptr && value->elems() == 1 && value->as<float>()[0] == 0;
  }

  // The operands of a Concat have its quantization, except the network's inputs.
  std::vector<HostValueId> moved_operands(const HostNode& node) const {
    if (node.op != "Concat") return {node.inputs[0]};
    std::vector<HostValueId> found = real_operands(node);
    std::erase_if(found, [&](HostValueId id) { return uses_.is_input(id); });
    return found;
  }

  HostValueId linked(HostValueId id) const {
    while (link_[id] != id) id = link_[id];
    return id;
  }

  void link(const HostNode& node) {
    const HostValueId out = node.outputs[0];
    for (const HostValueId id : moved_operands(node)) link_[linked(id)] = linked(out);
    for (const HostValueId id : node.outputs) {
      if (!is_real(id)) continue;
      plan_.is_moved[id] = true;
      link_[linked(id)] = linked(out);
    }
  }

  // The tensor of the levels of what a node writes: behind the bias of a MatMul, and Relu and Clip,
  // where nothing else reads what is between.
  HostValueId end_of(const HostNode& node) const {
    HostValueId id = node.outputs[0];
    for (bool may_be_bias = node.op == "MatMul";; may_be_bias = false) {
      const std::size_t reader = uses_.only_reader(id);
      if (reader == kNoNode) return id;
      const HostNode& next = network_.nodes[reader];
      const bool is_clamp = (is_onnx(next, "Relu") || is_onnx(next, "Clip")) &&
                            next.inputs[0] == id && roles_[reader] == Role::kElementwise;
      if (!is_clamp && !(may_be_bias && is_bias(next, id))) return id;
      id = next.outputs[0];
    }
  }

  bool is_bias(const HostNode& node, HostValueId product) const {
    if (!is_onnx(node, "Add")) return false;
    const Tensor* const bias =
        real_constant(network_, node.inputs[node.inputs[0] == product ? 1 : 0]);
    return bias != nullptr && !bias->shape.empty() && bias->shape.back() == bias->elems() &&
           bias->elems() == shape_of(product).back() &&
           shape_of(node.outputs[0]) == shape_of(product);
  }

  void want(std::size_t n) {
    const HostNode& node = network_.nodes[n];
    const Role role = roles_[n];
    if (role != Role::kProduct && role != Role::kSum && role != Role::kPool) return;
    const std::vector<HostValueId> operands = real_operands(node);
    for (const HostValueId id : operands) is_wanted_[id] = true;
    const HostValueId end = end_of(node);
    is_wanted_[end] = true;
    if (role == Role::kProduct) {
      if (auto weights = product_weights(network_, node)) {
        plan_.products.push_back({n, end, *std::move(weights)});
      }
    }
    if (role == Role::kSum && node.op == "Add") {
      plan_.additions.push_back({operands[0], operands[1], end});
    }
  }

  void make_groups() {
    std::map<HostValueId, bool> is_wanted;
    for (HostValueId id = 0; id < network_.values.size(); ++id) {
      if (is_wanted_[id]) is_wanted[linked(id)] = true;
    }
    std::map<HostValueId, std::size_t> index_of;
    for (HostValueId id = 0; id < network_.values.size(); ++id) {
      if (!is_real(id) || !is_wanted.contains(linked(id))) continue;
      const auto [found, is_new] = index_of.try_emplace(linked(id), plan_.groups.size());
      if (is_new) plan_.groups.emplace_back();
      HostPlan::Group& group = plan_.groups[found->second];
      plan_.group_of[id] = found->second;
      group.values.push_back(id);
      group.has_input = group.has_input || uses_.is_input(id);
      if (has_own_numbers(id)) group.roots.push_back(id);
    }
  }

  // A moved tensor has the numbers of others, but for a Concat of some that are in no group.
  bool has_own_numbers(HostValueId id) const {
    if (!plan_.is_moved[id]) return true;
    const HostNode& node = network_.nodes[uses_.maker(id)];
    return node.op == "Concat" && moved_operands(node).size() < node.inputs.size();
  }

  const HostNetwork& network_;
  HostUses uses_;
  std::vector<Role> roles_;         // by node
  std::vector<HostValueId> root_;   // by value: the tensor of which it is a function
  std::vector<bool> is_statistic_;  // by value: of a reduction, or a function of one
  std::vector<HostValueId> link_;   // by value: towards the one that stands for its group
  std::vector<bool> is_wanted_;
  HostPlan plan_;
};

}  // namespace

HostPlan plan_quantization(const HostNetwork& network) { return Planner(network).run(); }

}  // namespace qsim::quantize
