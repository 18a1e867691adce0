// An ONNX model in the making: nodes, attributes and constants. It keeps names unique.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <onnx/onnx_pb.h>

#include "core/network/graph.h"
#include "formats/onnx/types/element_types.h"

namespace qsim::formats {

using TensorNames = std::vector<std::string>;
using Ints = std::vector<std::int64_t>;

inline constexpr const char* kMicrosoft = "com.microsoft";

// As the machine has them, little endian.
template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

// The bytes of a file. Throws Error (exit code 3) beyond protobuf's 2 GiB.
std::string serialized(const onnx::ModelProto& model);

// Type, dimensions and bytes.
void set_tensor(onnx::TensorProto& proto, const Tensor& tensor);

void set_int(onnx::NodeProto& node, const char* name, std::int64_t value);
void set_ints(onnx::NodeProto& node, const char* name, const Ints& values);
void set_float(onnx::NodeProto& node, const char* name, float value);

// The attributes of nodes that slide a window or compute an activation.
void set_window(onnx::NodeProto& node, const Window& window);
void set_ceil_mode(onnx::NodeProto& node, const Window& window, const ImageShape& input,
                   const ImageShape& output);
void set_slope(onnx::NodeProto& node, const Activation& activation);
// Where a float activation is a node of ONNX: its operator's name.
const char* onnx_operator(Activation::Kind kind);

class ModelWriter {
 public:
  // The model has the graph's name. new_name() gives no name of a layer.
  explicit ModelWriter(const Graph& graph);

  // `wanted`, or with a number after it where it is taken; taken from now on.
  std::string new_name(const std::string& wanted);

  // A node with one output. The reference stays valid.
  onnx::NodeProto& add_node(const char* op_type, const std::string& name, const TensorNames& inputs,
                            const std::string& output);
  // A node with a new name near `wanted`, which its output has too.
  onnx::NodeProto& add_node(const char* op_type, const std::string& wanted,
                            const TensorNames& inputs);

  // ArgMax over the channels (axis 1) of `tensor`, int64; its shape becomes `shape`.
  std::string add_arg_max(const std::string& tensor, bool keeps_axis, Shape& shape);

  // An initializer; returns its name, a new one near `wanted`. `bytes` are little endian.
  std::string add_constant(const std::string& wanted, onnx::TensorProto::DataType type,
                           const Shape& shape, std::string bytes);
  std::string add_constant(const std::string& wanted, const Tensor& tensor);
  std::string add_float(const std::string& wanted, float value);
  std::string add_floats(const std::string& wanted, const Shape& shape,
                         const std::vector<float>& values);
  std::string add_ints(const std::string& wanted, const Ints& values);

  // The graph's input or output. A first dimension of 1 is written as a symbol: any batch.
  void declare_input(const std::string& name, onnx::TensorProto::DataType type, const Shape& shape);
  void declare_output(const std::string& name, onnx::TensorProto::DataType type,
                      const Shape& shape);

  onnx::ModelProto finish() &&;

 private:
  onnx::ModelProto model_;
  std::set<std::string, std::less<>> taken_;
};

}  // namespace qsim::formats
