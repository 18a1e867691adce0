// A small ONNX model to break in one place at a time, and a folder to put it in.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

#include "core/base/error.h"
#include "core/network/graph.h"
#include "tests/test_folder.h"

namespace qsim {

// "image" float32 [N, 2, 4, 4] -> QuantizeLinear "quantize" (uint8, 2^-4, 3) -> QLinearConv "conv"
// (3x3, pads 1, per channel, shifts 6, 7, 8; uint8, 2^-3, 5) -> MaxPool "pool" 2x2 -> Flatten
// "flatten" -> com.microsoft QGemm "fc" (transB, shift 7; uint8, 2^-1, 7) -> DequantizeLinear
// "dequantize" -> "scores" float32 [N, 5]. Every node's output is called "<node>.out" but the
// last. Opset 13.
class TestModel {
 public:
  TestModel();

  onnx::ModelProto proto;

  onnx::GraphProto& graph() { return *proto.mutable_graph(); }
  onnx::NodeProto& node(const std::string& name);
  onnx::TensorProto& constant(const std::string& name);
  onnx::AttributeProto& attribute(const std::string& node_name, const std::string& name);

  void set_int(const std::string& node_name, const std::string& name, std::int64_t value);
  void set_ints(const std::string& node_name, const std::string& name,
                std::initializer_list<std::int64_t> values);
  void set_float(const std::string& node_name, const std::string& name, float value);
  void set_text(const std::string& node_name, const std::string& name, const std::string& value);
  void drop_attribute(const std::string& node_name, const std::string& name);

  // Replaces or adds an initializer.
  void set_constant(const std::string& name, onnx::TensorProto::DataType type,
                    std::initializer_list<std::int64_t> shape, std::string_view raw);
  void set_scale(const std::string& name, std::initializer_list<std::int64_t> shape,
                 std::initializer_list<float> values);
  void set_zero_point(const std::string& name, onnx::TensorProto::DataType type, int value);

  // Puts a node without attributes before node `next`, on the way to it.
  onnx::NodeProto& insert_before(const std::string& next, const std::string& op_type,
                                 const std::string& name);
  // Ends the graph after node `name`, with an output of that type and rank.
  void end_after(const std::string& name, onnx::TensorProto::DataType type, int rank);
  // Makes the graph begin with an input of that type in place of QuantizeLinear.
  void begin_with(onnx::TensorProto::DataType type, std::initializer_list<std::int64_t> shape);

  void save(const std::filesystem::path& path) const;

 private:
  void add_constants();
};

void write_text(const std::filesystem::path& path, const std::string& text);

// What git leaves in place of a large file that has not been fetched.
inline constexpr char kLfsPointer[] =
    "version https://git-lfs.github.com/spec/v1\noid sha256:0123456789abcdef\nsize 1234\n";

// The error of importing `path`; code kOk and an empty message when there was none. The leading
// "<path>: " is cut off the message.
struct ImportError {
  ExitCode code = ExitCode::kOk;
  std::string message;
  bool operator==(const ImportError&) const = default;
};
std::ostream& operator<<(std::ostream& out, const ImportError& error);
ImportError import_error(const std::filesystem::path& path, std::int64_t batch = 1);
ImportError import_error(const TestModel& model, std::int64_t batch = 1);
Graph import_model(const TestModel& model, std::int64_t batch = 1);

template <typename T>
const T& operation(const Graph& graph, std::size_t index) {
  return std::get<T>(graph.layers.at(index).operation);
}

}  // namespace qsim
