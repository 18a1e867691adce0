#include "formats/onnx/importer/float_nodes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>

#include "core/base/error.h"
#include "core/base/printable.h"
#include "formats/onnx/importer/node_reader.h"
#include "formats/onnx/importer/quantization.h"

namespace qsim::formats {
namespace {

// Which nodes of a file ONNX Runtime runs in float32 although the file quantizes what is around
// them. qsim runs them as their quantized operators, so bytes may differ there.
// docs/reference/onnx.md#qdq-graphs has the rules, tools/ort/quantized_graph.py the same
// in Python.

// Operators that have a quantized form, of which the first ones read several tensors.
constexpr std::array<std::string_view, 3> kOfSeveral = {"Add", "Mul", "Concat"};
constexpr std::array<std::string_view, 8> kOfOne = {
    "Conv",      "Gemm",    "MatMul", "AveragePool", "GlobalAveragePool",
    "LeakyRelu", "Sigmoid", "Softmax"};
constexpr std::array<std::string_view, 4> kAlwaysFloat = {"HardSigmoid", "HardSwish", "PRelu",
                                                          "ReduceMean"};

template <std::size_t size>
bool is_one_of(std::string_view name, const std::array<std::string_view, size>& names) {
  return std::ranges::find(names, name) != names.end();
}

// The type of a tensor beside an operator, and whether ONNX Runtime may change int8 to uint8: where
// one QuantizeLinear writes it for one DequantizeLinear, which one node reads.
struct End {
  DType dtype;
  bool is_free;
};

class Reader {
 public:
  Reader(const ModelGraph& model, const std::vector<ModelNode>& nodes) : model_(model) {
    for (const ModelNode& node : nodes) {
      for (const std::string& output : node.proto->output()) makers_[output] = &node;
      for (const std::string& input : reads_of(*node.proto)) readers_[input].push_back(&node);
    }
  }

  // Why ONNX Runtime runs the node as float; "" where it does not.
  std::string reason(const ModelNode& node) {
    const std::string& type = node.proto->op_type();
    const bool of_several = is_one_of(type, kOfSeveral);
    const bool has_form = of_several || is_one_of(type, kOfOne);
    if (model_.constant(node.proto->output(0)) != nullptr) return "";  // folded
    if (!has_form && !is_one_of(type, kAlwaysFloat)) return "";
    std::vector<End> ends;
    const int operands = of_several ? node.proto->input_size() : 1;
    for (int i = 0; i < operands; ++i) {
      const ModelNode* maker = maker_of(node.proto->input(i));
      if (maker == nullptr || maker->proto->op_type() != "DequantizeLinear") {
        return maker == nullptr ? "it reads a number that no DequantizeLinear gives"
                                : "it reads float32 numbers that another operator computes";
      }
      ends.push_back({type_of(*maker), is_free(maker->proto->input(0))});
    }
    if (!has_form) return "ONNX Runtime has no quantized form of it";
    const std::string open = add_output(node, ends);
    return open.empty() ? why(type, ends) : open;
  }

 private:
  // Adds the end that the QuantizeLinear after it writes. Otherwise: why there is none.
  std::string add_output(const ModelNode& node, std::vector<End>& ends) {
    std::string tensor = node.proto->output(0);
    std::vector<const ModelNode*> clips;
    for (;;) {
      const std::vector<const ModelNode*>& readers = readers_[tensor];
      if (readers.empty() && clips.empty() && node.proto->op_type() == "Gemm") return "";
      if (readers.size() != 1 || model_.is_output(tensor)) {
        return "its output is not quantized at once";
      }
      const ModelNode& next = *readers[0];
      const std::string& type = next.proto->op_type();
      if (type == "QuantizeLinear") {
        const Quantization output =
            read_quantization(NodeReader(model_, next), 1, "y", DType::kUint8);
        for (const ModelNode* clip : clips) {
          if (!covers(*clip, output)) {
            return "the " + clip->proto->op_type() + " after it cuts off more than its type does";
          }
        }
        ends.push_back({output.dtype, is_free(next.proto->output(0))});
        return "";
      }
      if (type != "Relu" && type != "Clip") return "its output is not quantized at once";
      clips.push_back(&next);
      tensor = next.proto->output(0);
    }
  }

  // Whether saturation to the output's type does what a Relu or Clip does.
  bool covers(const ModelNode& clip, const Quantization& output) const {
    const NodeReader reader(model_, clip);
    const auto bound = [&](int index, const char* name, float none) {
      if (clip.proto->op_type() == "Relu") return index == 1 ? 0.0F : none;
      if (reader.has_input(index)) return reader.constant(index, name).as<float>()[0];
      return reader.opset() < 11 ? NodeAttributes(reader, {"min", "max"}).real(name, none) : none;
    };
    const auto level = [&](float real) {
      return double{std::nearbyint(real / output.scale.real())} + output.zero_point;
    };
    const float infinity = INFINITY;
    const float low = bound(1, "min", -infinity);
    const float high = bound(2, "max", infinity);
    return (std::isinf(low) || level(low) <= output.min()) &&
           (std::isinf(high) || level(high) >= output.max());
  }

  static std::string why(const std::string& type, const std::vector<End>& ends) {
    const auto stays_int8 = [](const End& end) {
      return end.dtype == DType::kInt8 && !end.is_free;
    };
    const auto stay = std::ranges::count_if(ends, stays_int8);
    if (stay == 0) return "";
    if (stay < std::ssize(ends)) {
      return "one of its tensors is int8 with several readers, or the network's own; another is or "
             "becomes uint8";
    }
    if (type != "Conv" && type != "MatMul") return "";
    return "its int8 tensors have several readers, or are the network's own";
  }

  // `bytes` are what a DequantizeLinear reads.
  bool is_free(const std::string& bytes) const {
    const ModelNode* maker = maker_of(bytes);
    if (maker == nullptr || maker->proto->op_type() != "QuantizeLinear") return false;
    const ModelNode* reader = only_reader(bytes);
    if (reader == nullptr || reader->proto->op_type() != "DequantizeLinear") return false;
    const std::string& reals = reader->proto->output(0);
    const auto found = readers_.find(reals);
    const std::size_t nodes = found == readers_.end() ? 0 : found->second.size();
    return nodes + (model_.is_output(reals) ? 1 : 0) == 1;
  }

  const ModelNode* only_reader(const std::string& tensor) const {
    if (model_.is_output(tensor)) return nullptr;
    const auto found = readers_.find(tensor);
    return found != readers_.end() && found->second.size() == 1 ? found->second[0] : nullptr;
  }

  const ModelNode* maker_of(const std::string& tensor) const {
    const auto found = makers_.find(tensor);
    return found == makers_.end() ? nullptr : found->second;
  }

  DType type_of(const ModelNode& dequantize) const {
    return read_quantization(NodeReader(model_, dequantize), 1, "x", DType::kUint8).dtype;
  }

  const ModelGraph& model_;
  std::map<std::string, const ModelNode*, std::less<>> makers_;
  std::map<std::string, std::vector<const ModelNode*>, std::less<>> readers_;
};

// Where a quantization is not of constants, ONNX Runtime has no integers to run.
std::string reason_or_error(Reader& reader, const ModelNode& node) {
  try {
    return reader.reason(node);
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

std::vector<FloatNode> float_nodes(const ModelGraph& model, const std::vector<ModelNode>& nodes) {
  Reader reader(model, nodes);
  std::vector<FloatNode> found;
  for (const ModelNode& node : nodes) {
    const std::string reason = reason_or_error(reader, node);
    if (!reason.empty()) {
      found.push_back({echoed(layer_name(node)), node.proto->op_type(), reason, node.index});
    }
  }
  return found;
}

}  // namespace qsim::formats
