// One node of the host with its inputs, as tests write it:
//
//   OneNode("Add").input(f32({2}, {1, 2})).input(f32({1}, {3})).result()
#pragma once

#include <initializer_list>
#include <iosfwd>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "golden/host/host_operators.h"

namespace qsim {

// What gtest prints of a tensor.
void PrintTo(const Tensor& tensor, std::ostream* out);  // NOLINT(readability-identifier-naming)

}  // namespace qsim

namespace qsim::golden {

Tensor f32(Shape shape, const std::vector<float>& values);
Tensor f64(Shape shape, const std::vector<double>& values);
Tensor i8(Shape shape, const std::vector<int>& values);
Tensor u8(Shape shape, const std::vector<int>& values);
Tensor i32(Shape shape, const std::vector<std::int32_t>& values);
Tensor i64(Shape shape, const std::vector<std::int64_t>& values);
Tensor bools(Shape shape, const std::vector<int>& values);
// One axis of integers: axes, shapes, pads.
Tensor list(const std::vector<std::int64_t>& values);
// From `first` on, each one more than the one before.
Tensor counted(Shape shape, float first = 1);

using Int = std::int64_t;
using Integers = std::vector<Int>;

inline constexpr ExitCode kBad = ExitCode::kBadInput;
inline constexpr ExitCode kUnsupported = ExitCode::kUnsupportedModel;

class OneNode {
 public:
  explicit OneNode(std::string op, int opset = 17, std::string domain = "");

  OneNode& with(const std::string& name, HostAttribute value);
  OneNode& input(Tensor tensor);
  OneNode& shaped(DType dtype, Shape shape);  // only its shape is known
  OneNode& unknown();
  OneNode& absent();
  OneNode& outputs(std::size_t count);
  OneNode& without_output(std::size_t index);

  const HostNode& node() const { return node_; }
  std::vector<const HostArray*> inputs() const;
  std::vector<HostArray> run() const;
  // The only output's or all outputs' values, which must be known.
  Tensor result() const;
  std::vector<Tensor> results() const;
  // The message of the Error that a run throws.
  std::string error(ExitCode code) const;

 private:
  HostNode node_;
  std::vector<HostArray> arrays_;
  std::vector<bool> is_absent_;
};

OneNode microsoft(const std::string& op);

// The shape that is known of an output before a run, as text; "unknown" or "values" otherwise.
std::string known_of(const HostArray& array);

void expect_near(const Tensor& found, const std::vector<double>& expected, double relative = 2e-6);

}  // namespace qsim::golden
