#include "quantize/hosted/host_opset.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "quantize/hosted/host_edit.h"

namespace qsim::quantize {
namespace {

constexpr int kOpset = 13;

// Attributes that are inputs since.
struct MovedAttribute {
  std::string_view op;
  std::string_view name;
  std::size_t input;
  int since;
};
constexpr std::array<MovedAttribute, 14> kMoved = {{
    {"Squeeze", "axes", 1, 13},
    {"Unsqueeze", "axes", 1, 13},
    {"ReduceSum", "axes", 1, 13},
    {"Split", "split", 1, 13},
    {"Clip", "min", 1, 11},
    {"Clip", "max", 2, 11},
    {"Pad", "pads", 1, 11},
    {"Pad", "value", 2, 11},
    {"Slice", "starts", 1, 10},
    {"Slice", "ends", 2, 10},
    {"Slice", "axes", 3, 10},
    {"TopK", "k", 1, 10},
    {"Dropout", "ratio", 1, 12},
    {"Upsample", "scales", 1, 9},
}};

class Upgrade {
 public:
  explicit Upgrade(HostNetwork network) : network_(std::move(network)), values_(network_) {}

  HostNetwork run() && {
    for (HostNode& node : network_.nodes) {
      if (!node.domain.empty() || node.opset >= kOpset) continue;
      refuse_bodies(node);
      move_attributes(node);
      if (node.op == "Upsample" || (node.op == "Resize" && node.opset < 11)) resize(node);
      if (node.op == "Softmax" || node.op == "LogSoftmax" || node.op == "Hardmax") {
        set_axis(node);
      }
      if (node.op == "Scatter") node.op = "ScatterElements";
      node.opset = kOpset;
    }
    return std::move(network_);
  }

 private:
  static void refuse_bodies(const HostNode& node) {
    for (const auto& [name, value] : node.attributes) {
      if (!std::holds_alternative<HostBody>(value)) continue;
      throw_unsupported(node.source +
                        ": has a graph of an opset before 13; supported: a file of "
                        "opset 13 or more");
    }
  }

  void move_attributes(HostNode& node) {
    for (const MovedAttribute& moved : kMoved) {
      const auto found = node.attributes.find(moved.name);
      if (moved.op != node.op || node.opset >= moved.since || found == node.attributes.end()) {
        continue;
      }
      if (node.inputs.size() <= moved.input) node.inputs.resize(moved.input + 1, kAbsentValue);
      node.inputs[moved.input] =
          values_.add_constant(node.name + "/" + std::string(moved.name), tensor_of(found->second));
      node.attributes.erase(found);
    }
  }

  static Tensor tensor_of(const HostAttribute& attribute) {
    if (const auto* one = std::get_if<std::int64_t>(&attribute)) {
      return make_tensor<std::int64_t>({1}, std::span<const std::int64_t>(one, 1));
    }
    if (const auto* one = std::get_if<float>(&attribute)) {
      return make_tensor<float>({}, std::span<const float>(one, 1));
    }
    if (const auto* list = std::get_if<std::vector<std::int64_t>>(&attribute)) {
      return make_tensor<std::int64_t>({std::ssize(*list)}, std::span(*list));
    }
    const auto& list = std::get<std::vector<float>>(attribute);
    return make_tensor<float>({std::ssize(list)}, std::span(list));
  }

  // X and scales; each output position is of the input position below it.
  void resize(HostNode& node) {
    node.op = "Resize";
    node.inputs.resize(2, kAbsentValue);
    node.inputs.insert(node.inputs.begin() + 1, kAbsentValue);
    node.attributes["coordinate_transformation_mode"] = std::string("asymmetric");
    if (word_of(node, "mode", "nearest") == "nearest") {
      node.attributes["nearest_mode"] = std::string("floor");
    }
  }

  // Over all axes from `axis` on, which has to be the last that is not 1.
  void set_axis(HostNode& node) {
    const HostArray& read = network_.values[node.inputs[0]].array;
    const std::int64_t rank = read.has_shape() ? std::ssize(read.tensor.shape) : 0;
    std::int64_t axis = integer_of(node, "axis", 1);
    if (axis < 0) axis += rank;
    const bool is_one = read.has_shape() && axis < rank &&
                        std::all_of(read.tensor.shape.begin() + axis + 1, read.tensor.shape.end(),
                                    [](std::int64_t size) { return size == 1; });
    if (!is_one) {
      throw_unsupported(node.source +
                        ": is over several axes, as before opset 13; supported: one "
                        "axis, or a file of opset 13 or more");
    }
    node.attributes["axis"] = axis;
  }

  HostNetwork network_;
  HostValues values_;
};

}  // namespace

HostNetwork at_opset_13(HostNetwork network) { return Upgrade(std::move(network)).run(); }

}  // namespace qsim::quantize
