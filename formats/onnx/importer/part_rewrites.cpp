#include "formats/onnx/importer/part_rewrites.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "formats/onnx/types/element_types.h"

namespace qsim::formats {
namespace {

using onnx::AttributeProto;
using onnx::NodeProto;

// Axis d of the result is axis order[d] of `tensor`.
Tensor permuted(const Tensor& tensor, const std::vector<std::size_t>& order) {
  Shape shape;
  for (const std::size_t axis : order) shape.push_back(tensor.shape[axis]);
  std::vector<std::size_t> steps(shape.size(), 1);  // through `tensor`, by its axes
  for (std::size_t d = shape.size(); d-- > 1;) {
    steps[d - 1] = steps[d] * static_cast<std::size_t>(tensor.shape[d]);
  }
  Tensor result(tensor.dtype, shape);
  const std::size_t bytes = dtype_bytes(tensor.dtype);
  std::vector<std::int64_t> at(shape.size(), 0);
  for (std::size_t i = 0; i < static_cast<std::size_t>(result.elems()); ++i) {
    std::size_t from = 0;
    for (std::size_t d = 0; d < at.size(); ++d) {
      from += static_cast<std::size_t>(at[d]) * steps[order[d]];
    }
    std::memcpy(&result.bytes[i * bytes], &tensor.bytes[from * bytes], bytes);
    for (std::size_t d = at.size(); d-- > 0;) {
      if (++at[d] < shape[d]) break;
      at[d] = 0;
    }
  }
  return result;
}

class PartRewriting {
 public:
  PartRewriting(ModelGraph& part, const FindValue& find) : part_(part), find_(find) {
    for (std::size_t i = 0; i < part.nodes.size(); ++i) {
      for (const std::string& output : part.nodes[i].proto->output()) makers_[output] = i;
    }
  }

  void run(PartView view) {
    for (std::size_t i = 0; i < part_.nodes.size(); ++i) {
      drop_identity(i);
      transpose_weights(i);
      fuse_bias(i);
      if (view == PartView::kLines) add_axis(i);
    }
    if (view == PartView::kLines) add_axis_of_weights();
    std::erase_if(part_.nodes, [&](const ModelNode& node) { return gone_.contains(node.proto); });
    part_.reads.clear();
    for (const ModelNode& node : part_.nodes) {
      for (const std::string& input : reads_of(*node.proto)) ++part_.reads[input];
    }
  }

 private:
  const NodeProto& node(std::size_t i) const { return *part_.nodes[i].proto; }

  NodeProto& change(std::size_t i) {
    NodeProto& made = part_.made_nodes.emplace_back(node(i));
    part_.nodes[i].proto = &made;
    return made;
  }

  // The node of that type that writes a tensor.
  std::optional<std::size_t> maker(const std::string& tensor, std::string_view op_type) const {
    const auto found = makers_.find(tensor);
    if (found == makers_.end() || node(found->second).op_type() != op_type) return std::nullopt;
    return found->second;
  }

  // A Concat of one tensor, and a product by 1.
  void drop_identity(std::size_t i) {
    const std::string& op = node(i).op_type();
    if (!node(i).domain().empty()) return;
    if (op == "Concat" && node(i).input_size() == 1) make_identity(i, node(i).input(0));
    if (op != "Mul" || node(i).input_size() != 2) return;
    for (const int operand : {0, 1}) {
      const Tensor* const factor = find_(node(i).input(1 - operand));
      const bool is_one = factor != nullptr && factor->dtype == DType::kFloat32 &&
                          factor->elems() == 1 && factor->as<float>()[0] == 1.0F;
      if (is_one) return make_identity(i, node(i).input(operand));
    }
  }

  void make_identity(std::size_t i, const std::string& input) {
    NodeProto made;
    made.set_name(node(i).name());
    made.set_op_type("Identity");
    made.add_input(input);
    made.add_output(node(i).output(0));
    change(i) = std::move(made);
  }

  // DequantizeLinear, then Transpose: of constants.
  void transpose_weights(std::size_t i) {
    if (node(i).op_type() != "Transpose") return;
    const auto dequantize = maker(node(i).input(0), "DequantizeLinear");
    if (!dequantize) return;
    const NodeProto& before = node(*dequantize);
    const Tensor* const levels = find_(before.input(0));
    const AttributeProto* const perm = find_attribute(node(i), "perm");
    if (levels == nullptr || levels->shape.empty()) return;
    const std::size_t rank = levels->shape.size();
    std::vector<std::size_t> order;
    for (std::size_t d = 0; d < rank; ++d) {
      order.push_back(perm == nullptr
                          ? rank - 1 - d
                          : static_cast<std::size_t>(d < static_cast<std::size_t>(perm->ints_size())
                                                         ? perm->ints(static_cast<int>(d))
                                                         : -1));
    }
    std::vector<std::size_t> sorted = order;
    std::ranges::sort(sorted);
    for (std::size_t d = 0; d < rank; ++d) {
      if (sorted[d] != d) return;
    }
    const std::string name = part_.unused_name(node(i).output(0) + "_levels");
    part_.add_constant(name, proto_of(permuted(*levels, order)));
    const AttributeProto* const axis = find_attribute(before, "axis");
    std::int64_t old_axis = axis == nullptr ? 1 : axis->i();
    if (old_axis < 0) old_axis += static_cast<std::int64_t>(rank);
    NodeProto made = before;
    made.set_input(0, name);
    made.set_output(0, node(i).output(0));
    for (int a = made.attribute_size(); a-- > 0;) {
      if (made.attribute(a).name() == "axis") made.mutable_attribute()->DeleteSubrange(a, 1);
    }
    const auto found = std::ranges::find(order, static_cast<std::size_t>(old_axis));
    if (found != order.end()) add_integer(made, "axis", found - order.begin());
    change(i) = std::move(made);
  }

  // Add of what a MatMul of constant weights writes and a constant vector.
  void fuse_bias(std::size_t i) {
    if (node(i).op_type() != "Add" || node(i).input_size() != 2) return;
    for (const int operand : {0, 1}) {
      const auto product = maker(node(i).input(operand), "MatMul");
      const Tensor* const bias = find_(node(i).input(1 - operand));
      if (!product || bias == nullptr || bias->dtype != DType::kFloat32) continue;
      const NodeProto& matmul = node(*product);
      const Tensor* const weights = find_(matmul.input(1));
      if (weights == nullptr || weights->shape.size() != 2 ||
          part_.reads_of(matmul.output(0)) != 1 || part_.is_output(matmul.output(0)) ||
          bias->shape.empty() || bias->shape.back() != weights->shape[1] ||
          bias->elems() != weights->shape[1]) {
        continue;
      }
      Tensor vector = *bias;
      vector.shape = {weights->shape[1]};
      const std::string name = part_.unused_name(node(i).output(0) + "_bias");
      part_.add_constant(name, proto_of(vector));
      NodeProto made = matmul;
      made.set_op_type("Gemm");
      made.add_input(name);
      made.set_output(0, node(i).output(0));
      gone_.insert(part_.nodes[*product].proto);
      change(i) = std::move(made);
      return;
    }
  }

  // [k] to [1, k]; pads [a, b] to [0, a, 0, b].
  void add_axis(std::size_t i) {
    constexpr std::array<std::string_view, 5> kWindows = {"Conv", "QLinearConv", "MaxPool",
                                                          "AveragePool", "QLinearAveragePool"};
    if (node(i).op_type() == "Concat" || node(i).op_type() == "QLinearConcat") turn_axis(i);
    if (std::ranges::find(kWindows, node(i).op_type()) == kWindows.end()) return;
    if (node(i).op_type().ends_with("Conv")) {
      weights_.insert(node(i).input(node(i).op_type() == "Conv" ? 1 : 3));
    }
    NodeProto& made = change(i);
    for (AttributeProto& attribute : *made.mutable_attribute()) {
      const std::string& name = attribute.name();
      const bool is_pads = name == "pads";
      if (!is_pads && name != "kernel_shape" && name != "strides" && name != "dilations") continue;
      const std::vector<std::int64_t> values(attribute.ints().begin(), attribute.ints().end());
      attribute.clear_ints();
      for (const std::int64_t value : values) {
        attribute.add_ints(is_pads ? 0 : 1);
        attribute.add_ints(value);
      }
    }
  }

  // An axis of three as one of four: the last moves, the others are counted from the first.
  void turn_axis(std::size_t i) {
    NodeProto& made = change(i);
    for (AttributeProto& attribute : *made.mutable_attribute()) {
      if (attribute.name() != "axis") continue;
      const std::int64_t axis = attribute.i() < 0 ? attribute.i() + 3 : attribute.i();
      attribute.set_i(axis == 2 ? 3 : axis);
    }
  }

  // [Cout, Cin, k] to [Cout, Cin, 1, k], of a constant or before its DequantizeLinear.
  void add_axis_of_weights() {
    for (const std::string& name : weights_) {
      const auto dequantize = maker(name, "DequantizeLinear");
      const std::string stored = dequantize ? node(*dequantize).input(0) : name;
      const Tensor* const tensor = find_(stored);
      if (tensor == nullptr || tensor->shape.size() != 3) continue;
      if (dequantize) turn_axis(*dequantize);
      Tensor turned = *tensor;
      turned.shape = {tensor->shape[0], tensor->shape[1], 1, tensor->shape[2]};
      part_.add_constant(stored, proto_of(turned));
    }
  }

  ModelGraph& part_;
  const FindValue& find_;
  std::map<std::string, std::size_t, std::less<>> makers_;
  std::set<std::string> weights_;
  std::set<const NodeProto*> gone_;
};

}  // namespace

onnx::TensorProto proto_of(const Tensor& tensor) {
  onnx::TensorProto proto;
  proto.set_data_type(onnx_dtype(tensor.dtype));
  for (const std::int64_t dim : tensor.shape) proto.add_dims(dim);
  proto.set_raw_data(tensor.bytes.data(), tensor.bytes.size());
  return proto;
}

void rewrite_part(ModelGraph& part, PartView view, const FindValue& find) {
  PartRewriting(part, find).run(view);
}

}  // namespace qsim::formats
