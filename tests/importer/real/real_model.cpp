#include "tests/importer/real/real_model.h"

#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "formats/onnx/importer/real_importer.h"

namespace qsim {

using namespace formats;
namespace {

using onnx::TensorProto;

void declare(onnx::ValueInfoProto& info, const std::string& name,
             std::initializer_list<std::int64_t> shape) {
  info.set_name(name);
  auto& tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(TensorProto::FLOAT);
  for (const std::int64_t dim : shape) {
    if (dim < 0) {
      tensor.mutable_shape()->add_dim()->set_dim_param("N");
    } else {
      tensor.mutable_shape()->add_dim()->set_dim_value(dim);
    }
  }
}

void add(onnx::GraphProto& graph, const std::string& op_type, const std::string& name,
         std::initializer_list<const char*> inputs, const std::string& output) {
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(op_type);
  node.set_name(name);
  for (const char* input : inputs) node.add_input(input);
  node.add_output(output);
}

}  // namespace

RealModel::RealModel() {
  graph().Clear();
  graph().set_name("small");
  declare(*graph().add_input(), "image", {-1, 2, 4, 4});
  declare(*graph().add_output(), "scores", {-1, 5});
  set_numbers("w", {3, 2, 3, 3});
  set_numbers("b", {3}, 1);
  set_reals("gamma", {3}, {0.75F, 1.25F, -0.5F});
  set_numbers("beta", {3}, 2);
  set_numbers("mean", {3}, 3);
  set_reals("variance", {3}, {0.3F, 1.7F, 0.01F});
  set_numbers("fc_w", {5, 12}, 4);
  set_numbers("fc_b", {5}, 5);
  add(graph(), "Conv", "conv", {"image", "w", "b"}, "conv.out");
  add(graph(), "BatchNormalization", "norm", {"conv.out", "gamma", "beta", "mean", "variance"},
      "norm.out");
  add(graph(), "Relu", "relu", {"norm.out"}, "relu.out");
  add(graph(), "MaxPool", "pool", {"relu.out"}, "pool.out");
  add(graph(), "Flatten", "flatten", {"pool.out"}, "flatten.out");
  add(graph(), "Gemm", "fc", {"flatten.out", "fc_w", "fc_b"}, "scores");
  set_ints("conv", "pads", {1, 1, 1, 1});
  set_ints("pool", "kernel_shape", {2, 2});
  set_ints("pool", "strides", {2, 2});
  set_int("fc", "transB", 1);
}

void RealModel::set_numbers(const std::string& name, std::initializer_list<std::int64_t> shape,
                            double phase) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < element_count(shape); ++i) {
    values.push_back(static_cast<float>(0.25 * std::sin(static_cast<double>(i) + phase)));
  }
  set_reals(name, shape, values);
}

void RealModel::set_reals(const std::string& name, std::initializer_list<std::int64_t> shape,
                          const std::vector<float>& values) {
  std::string raw(values.size() * sizeof(float), '\0');
  std::memcpy(raw.data(), values.data(), raw.size());
  set_constant(name, TensorProto::FLOAT, shape, raw);
}

onnx::NodeProto& RealModel::insert_binary(const std::string& next, const std::string& op_type,
                                          const std::string& name, const std::string& constant) {
  onnx::NodeProto& node = insert_before(next, op_type, name);
  node.add_input(constant);
  return node;
}

void RealModel::set_opset(int version) { proto.mutable_opset_import(0)->set_version(version); }

std::vector<float> numbers_of(TestModel& model, const std::string& name) {
  const std::string& raw = model.constant(name).raw_data();
  std::vector<float> numbers(raw.size() / sizeof(float));
  std::memcpy(numbers.data(), raw.data(), raw.size());
  return numbers;
}

Graph import_real(const TestModel& model, std::int64_t batch) {
  const TestFolder folder;
  model.save(folder / "model.onnx");
  return import_real_onnx(std::make_shared<const HeldFile>(folder / "model.onnx"), {batch});
}

ImportError real_import_error(const std::filesystem::path& path) {
  try {
    import_real_onnx(std::make_shared<const HeldFile>(path));
  } catch (const Error& error) {
    std::string message = error.what();
    const std::string prefix = path.string() + ": ";
    if (message.starts_with(prefix)) message.erase(0, prefix.size());
    return {error.code(), message};
  }
  return {};
}

ImportError real_import_error(const TestModel& model, std::int64_t batch) {
  const TestFolder folder;
  model.save(folder / "model.onnx");
  if (batch == 1) return real_import_error(folder / "model.onnx");
  try {
    import_real_onnx(std::make_shared<const HeldFile>(folder / "model.onnx"), {batch});
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {};
}

void expect_real_errors(ExitCode code, const std::vector<RealFault>& faults) {
  for (const RealFault& fault : faults) {
    RealModel model;
    fault.apply(model);
    EXPECT_EQ(real_import_error(model), (ImportError{code, fault.expected}));
  }
}

}  // namespace qsim
