#include "tests/importer/model_builder.h"

#include <cstdlib>
#include <cstring>
#include <fstream>

#include "formats/onnx/importer/onnx_importer.h"

namespace qsim {

using namespace formats;

namespace fs = std::filesystem;
using onnx::AttributeProto;
using onnx::NodeProto;
using onnx::TensorProto;

namespace {

// Bytes that no constant could pass for.
std::string pattern(std::size_t count) {
  std::string bytes(count, '\0');
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<char>(i * 37 + 11);
  return bytes;
}

std::string int32_pattern(std::size_t count) {
  std::string bytes(4 * count, '\0');
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = static_cast<std::int32_t>(i * 101) - 150;
    std::memcpy(bytes.data() + 4 * i, &value, 4);
  }
  return bytes;
}

NodeProto make_node(const std::string& op_type, const std::string& name,
                    std::initializer_list<const char*> inputs, const std::string& output) {
  NodeProto node;
  node.set_op_type(op_type);
  node.set_name(name);
  for (const char* input : inputs) node.add_input(input);
  node.add_output(output);
  return node;
}

void declare(onnx::ValueInfoProto& info, const std::string& name, TensorProto::DataType type,
             std::initializer_list<std::int64_t> shape) {
  info.Clear();
  info.set_name(name);
  auto& tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(type);
  for (const std::int64_t dim : shape) {
    auto& proto = *tensor.mutable_shape()->add_dim();
    if (dim < 0) {
      proto.set_dim_param("N" + std::to_string(tensor.shape().dim_size()));
    } else {
      proto.set_dim_value(dim);
    }
  }
}

}  // namespace

TestModel::TestModel() {
  proto.set_ir_version(8);
  proto.add_opset_import()->set_version(13);
  auto& microsoft = *proto.add_opset_import();
  microsoft.set_domain("com.microsoft");
  microsoft.set_version(1);
  graph().set_name("small");
  declare(*graph().add_input(), "image", TensorProto::FLOAT, {-1, 2, 4, 4});
  declare(*graph().add_output(), "scores", TensorProto::FLOAT, {-1, 5});

  add_constants();
  *graph().add_node() =
      make_node("QuantizeLinear", "quantize", {"image", "x_scale", "x_zero_point"}, "quantize.out");
  *graph().add_node() = make_node("QLinearConv", "conv",
                                  {"quantize.out", "x_scale", "x_zero_point", "w", "w_scale",
                                   "w_zero_point", "y_scale", "y_zero_point", "bias"},
                                  "conv.out");
  *graph().add_node() = make_node("MaxPool", "pool", {"conv.out"}, "pool.out");
  *graph().add_node() = make_node("Flatten", "flatten", {"pool.out"}, "flatten.out");
  *graph().add_node() = make_node("QGemm", "fc",
                                  {"flatten.out", "y_scale", "y_zero_point", "fc_w", "fc_w_scale",
                                   "fc_w_zero_point", "fc_bias", "z_scale", "z_zero_point"},
                                  "fc.out");
  *graph().add_node() =
      make_node("DequantizeLinear", "dequantize", {"fc.out", "z_scale", "z_zero_point"}, "scores");
  node("fc").set_domain("com.microsoft");
  set_ints("conv", "pads", {1, 1, 1, 1});
  set_ints("pool", "kernel_shape", {2, 2});
  set_ints("pool", "strides", {2, 2});
  set_int("fc", "transB", 1);
}

void TestModel::add_constants() {
  set_scale("x_scale", {}, {0.0625F});
  set_zero_point("x_zero_point", TensorProto::UINT8, 3);
  set_constant("w", TensorProto::INT8, {3, 2, 3, 3}, pattern(54));
  set_scale("w_scale", {3}, {0.03125F, 0.015625F, 0.0078125F});
  set_constant("w_zero_point", TensorProto::INT8, {3}, std::string(3, '\0'));
  set_scale("y_scale", {}, {0.125F});
  set_zero_point("y_zero_point", TensorProto::UINT8, 5);
  set_constant("bias", TensorProto::INT32, {3}, int32_pattern(3));
  set_constant("fc_w", TensorProto::INT8, {5, 12}, pattern(60));
  set_scale("fc_w_scale", {}, {0.03125F});
  set_zero_point("fc_w_zero_point", TensorProto::INT8, 0);
  set_constant("fc_bias", TensorProto::INT32, {5}, int32_pattern(5));
  set_scale("z_scale", {1}, {0.5F});
  set_zero_point("z_zero_point", TensorProto::UINT8, 7);
}

NodeProto& TestModel::node(const std::string& name) {
  for (NodeProto& found : *graph().mutable_node()) {
    if (found.name() == name) return found;
  }
  throw InternalError("no node " + name);
}

TensorProto& TestModel::constant(const std::string& name) {
  for (TensorProto& found : *graph().mutable_initializer()) {
    if (found.name() == name) return found;
  }
  TensorProto& added = *graph().add_initializer();
  added.set_name(name);
  return added;
}

AttributeProto& TestModel::attribute(const std::string& node_name, const std::string& name) {
  NodeProto& owner = node(node_name);
  for (AttributeProto& found : *owner.mutable_attribute()) {
    if (found.name() == name) return found;
  }
  AttributeProto& added = *owner.add_attribute();
  added.set_name(name);
  return added;
}

void TestModel::set_int(const std::string& node_name, const std::string& name, std::int64_t value) {
  AttributeProto& found = attribute(node_name, name);
  found.set_type(AttributeProto::INT);
  found.set_i(value);
}

void TestModel::set_ints(const std::string& node_name, const std::string& name,
                         std::initializer_list<std::int64_t> values) {
  AttributeProto& found = attribute(node_name, name);
  found.set_type(AttributeProto::INTS);
  found.clear_ints();
  for (const std::int64_t value : values) found.add_ints(value);
}

void TestModel::set_float(const std::string& node_name, const std::string& name, float value) {
  AttributeProto& found = attribute(node_name, name);
  found.set_type(AttributeProto::FLOAT);
  found.set_f(value);
}

void TestModel::set_text(const std::string& node_name, const std::string& name,
                         const std::string& value) {
  AttributeProto& found = attribute(node_name, name);
  found.set_type(AttributeProto::STRING);
  found.set_s(value);
}

void TestModel::drop_attribute(const std::string& node_name, const std::string& name) {
  auto& attributes = *node(node_name).mutable_attribute();
  for (int i = attributes.size() - 1; i >= 0; --i) {
    if (attributes.Get(i).name() == name) attributes.DeleteSubrange(i, 1);
  }
}

void TestModel::set_constant(const std::string& name, TensorProto::DataType type,
                             std::initializer_list<std::int64_t> shape, std::string_view raw) {
  TensorProto& tensor = constant(name);
  tensor.Clear();
  tensor.set_name(name);
  tensor.set_data_type(type);
  for (const std::int64_t dim : shape) tensor.add_dims(dim);
  tensor.set_raw_data(std::string(raw));
}

void TestModel::set_scale(const std::string& name, std::initializer_list<std::int64_t> shape,
                          std::initializer_list<float> values) {
  set_constant(name, TensorProto::FLOAT, shape, "");
  TensorProto& tensor = constant(name);
  tensor.clear_raw_data();
  for (const float value : values) tensor.add_float_data(value);
}

void TestModel::set_zero_point(const std::string& name, TensorProto::DataType type, int value) {
  const char byte = static_cast<char>(value);
  set_constant(name, type, {}, {&byte, 1});
}

NodeProto& TestModel::insert_before(const std::string& next, const std::string& op_type,
                                    const std::string& name) {
  const std::string input = node(next).input(0);
  NodeProto& added = *graph().add_node();
  added = make_node(op_type, name, {input.c_str()}, name + ".out");
  node(next).set_input(0, name + ".out");
  return added;
}

void TestModel::end_after(const std::string& name, TensorProto::DataType type, int rank) {
  auto& nodes = *graph().mutable_node();
  int index = 0;
  while (nodes.Get(index).name() != name) ++index;
  nodes.DeleteSubrange(index + 1, nodes.size() - index - 1);
  declare(*graph().mutable_output(0), nodes.Get(index).output(0), type, {});
  auto& tensor = *graph().mutable_output(0)->mutable_type()->mutable_tensor_type();
  for (int i = 0; i < rank; ++i) tensor.mutable_shape()->add_dim();
}

void TestModel::begin_with(TensorProto::DataType type, std::initializer_list<std::int64_t> shape) {
  graph().mutable_node()->DeleteSubrange(0, 1);
  declare(*graph().mutable_input(0), "quantize.out", type, shape);
}

void TestModel::save(const fs::path& path) const { write_text(path, proto.SerializeAsString()); }

void write_text(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::ostream& operator<<(std::ostream& out, const ImportError& error) {
  return out << "exit code " << static_cast<int>(error.code) << ": " << error.message;
}

ImportError import_error(const fs::path& path, std::int64_t batch) {
  try {
    import_onnx(path, batch);
  } catch (const Error& error) {
    std::string message = error.what();
    const std::string prefix = path.string() + ": ";
    if (message.starts_with(prefix)) message.erase(0, prefix.size());
    return {error.code(), message};
  }
  return {};
}

ImportError import_error(const TestModel& model, std::int64_t batch) {
  const TestFolder folder;
  model.save(folder / "model.onnx");
  return import_error(folder / "model.onnx", batch);
}

Graph import_model(const TestModel& model, std::int64_t batch) {
  const TestFolder folder;
  model.save(folder / "model.onnx");
  return import_onnx(folder / "model.onnx", batch);
}

}  // namespace qsim
