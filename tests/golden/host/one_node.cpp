#include "tests/golden/host/one_node.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <ostream>

#include <gtest/gtest.h>

#include "tests/compiler/refusal.h"

namespace qsim {

void PrintTo(const Tensor& tensor, std::ostream* out) {  // NOLINT(readability-identifier-naming)
  *out << dtype_name(tensor.dtype) << ' ' << shape_text(tensor.shape) << " {";
  golden::with_type(tensor.dtype, [&]<typename T>() {
    for (const T value : golden::elements<T>(tensor)) *out << ' ' << +value;
  });
  *out << " }";
}

}  // namespace qsim

namespace qsim::golden {
namespace {

template <typename T, typename From>
Tensor tensor_of(DType dtype, Shape shape, const std::vector<From>& values) {
  Tensor tensor(dtype, std::move(shape));
  const auto to = elements<T>(tensor);
  QSIM_CHECK(to.size() == values.size(), "values do not fill the shape");
  std::ranges::transform(values, to.begin(), [](From value) { return static_cast<T>(value); });
  return tensor;
}

}  // namespace

Tensor f32(Shape shape, const std::vector<float>& values) {
  return tensor_of<float>(DType::kFloat32, std::move(shape), values);
}
Tensor f64(Shape shape, const std::vector<double>& values) {
  return tensor_of<double>(DType::kFloat64, std::move(shape), values);
}
Tensor i8(Shape shape, const std::vector<int>& values) {
  return tensor_of<std::int8_t>(DType::kInt8, std::move(shape), values);
}
Tensor u8(Shape shape, const std::vector<int>& values) {
  return tensor_of<std::uint8_t>(DType::kUint8, std::move(shape), values);
}
Tensor i32(Shape shape, const std::vector<std::int32_t>& values) {
  return tensor_of<std::int32_t>(DType::kInt32, std::move(shape), values);
}
Tensor i64(Shape shape, const std::vector<std::int64_t>& values) {
  return tensor_of<std::int64_t>(DType::kInt64, std::move(shape), values);
}
Tensor bools(Shape shape, const std::vector<int>& values) {
  return tensor_of<std::uint8_t>(DType::kBool, std::move(shape), values);
}
Tensor list(const std::vector<std::int64_t>& values) {
  return i64({static_cast<std::int64_t>(values.size())}, values);
}
Tensor counted(Shape shape, float first) {
  Tensor tensor(DType::kFloat32, std::move(shape));
  const auto values = tensor.as<float>();
  std::iota(values.begin(), values.end(), first);
  return tensor;
}

OneNode::OneNode(std::string op, int opset, std::string domain) {
  node_.op = std::move(op);
  node_.opset = opset;
  node_.domain = std::move(domain);
  node_.source = "test.onnx: node 'one' (" + node_.op + ")";
  outputs(1);
}

OneNode microsoft(const std::string& op) { return OneNode(op, 1, std::string(kMicrosoft)); }

OneNode& OneNode::with(const std::string& name, HostAttribute value) {
  node_.attributes[name] = std::move(value);
  return *this;
}

OneNode& OneNode::input(Tensor tensor) {
  arrays_.push_back({HostArray::Known::kValues, std::move(tensor)});
  is_absent_.push_back(false);
  return *this;
}

OneNode& OneNode::shaped(DType dtype, Shape shape) {
  HostArray array;
  array.known = HostArray::Known::kShape;
  array.tensor.dtype = dtype;
  array.tensor.shape = std::move(shape);
  arrays_.push_back(std::move(array));
  is_absent_.push_back(false);
  return *this;
}

OneNode& OneNode::unknown() {
  arrays_.emplace_back();
  is_absent_.push_back(false);
  return *this;
}

OneNode& OneNode::absent() {
  arrays_.emplace_back();
  is_absent_.push_back(true);
  return *this;
}

OneNode& OneNode::outputs(std::size_t count) {
  node_.outputs.resize(count);
  std::iota(node_.outputs.begin(), node_.outputs.end(), HostValueId{0});
  return *this;
}

OneNode& OneNode::without_output(std::size_t index) {
  node_.outputs.at(index) = kAbsentValue;
  return *this;
}

std::vector<const HostArray*> OneNode::inputs() const {
  std::vector<const HostArray*> inputs;
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    inputs.push_back(is_absent_[i] ? nullptr : &arrays_[i]);
  }
  return inputs;
}

std::vector<HostArray> OneNode::run() const { return run_host_node(node_, inputs()); }

std::vector<Tensor> OneNode::results() const {
  std::vector<Tensor> tensors;
  for (HostArray& array : run()) {
    EXPECT_TRUE(array.has_values());
    tensors.push_back(std::move(array.tensor));
  }
  return tensors;
}

Tensor OneNode::result() const { return results().at(0); }

std::string OneNode::error(ExitCode code) const {
  return testing::refusal([&] { run(); }, code);
}

std::string known_of(const HostArray& array) {
  if (array.has_values()) return "values";
  if (!array.has_shape()) return "unknown";
  return std::string(dtype_name(array.tensor.dtype)) + " " + shape_text(array.tensor.shape);
}

void expect_near(const Tensor& found, const std::vector<double>& expected, double relative) {
  const auto values = found.as<float>();
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(values[i], expected[i], relative * std::abs(expected[i])) << "element " << i;
  }
}

}  // namespace qsim::golden
