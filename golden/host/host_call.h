// What an operator of the host sees of its node: inputs by number, attributes by name, and its
// outputs. One function serves twice: before a run, when only some of the values are known and it
// tells the shapes of its outputs, and in a run.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/checked_math.h"
#include "core/network/host_network.h"

namespace qsim::golden {

// Thrown by HostCall where a shape depends on values that are not known before a run.
struct HostUnknown {};

class HostCall {
 public:
  // `inputs` are the node's, null where it leaves one out. All have at least a shape, but for nodes
  // with graphs. Outputs of more than `most_bytes` get a shape alone.
  HostCall(const HostNode& node, std::vector<const HostArray*> inputs,
           std::int64_t most_bytes = std::numeric_limits<std::int64_t>::max());

  const HostNode& node() const { return node_; }
  int opset() const { return node_.opset; }
  // "FILE: node 'add1' (Add): FOUND; supported: SUPPORTED", exit code 4.
  [[noreturn]] void refuse(const std::string& found, const std::string& supported) const;
  // "...: FOUND; expected EXPECTED", exit code 3.
  [[noreturn]] void malformed(const std::string& found, const std::string& expected) const;

  std::size_t inputs() const { return inputs_.size(); }
  bool has(std::size_t index) const { return index < inputs_.size() && inputs_[index] != nullptr; }
  // Its dtype and shape; its bytes only where computes(), or where knows(index). malformed() where
  // it is absent.
  const Tensor& input(std::size_t index) const;
  const HostArray& array(std::size_t index) const;  // the same, and what is known of it
  const Shape& shape(std::size_t index) const { return input(index).shape; }
  DType dtype(std::size_t index) const { return input(index).dtype; }
  bool knows(std::size_t index) const { return has(index) && inputs_[index]->has_values(); }
  // Values that say what the operator does (axes, shapes, pads), converted from whatever type the
  // input has. Throw HostUnknown before a run where they are not known.
  std::vector<std::int64_t> integers(std::size_t index) const;
  std::vector<double> reals(std::size_t index) const;
  std::int64_t integer(std::size_t index) const;  // malformed() unless it is one number
  double real(std::size_t index) const;           // the same

  // Attributes; malformed() for one of another type.
  bool has_attribute(std::string_view name) const;
  std::int64_t attribute(std::string_view name, std::int64_t fallback) const;
  float attribute(std::string_view name, float fallback) const;
  std::string attribute(std::string_view name, const char* fallback) const;
  std::optional<std::vector<std::int64_t>> integer_list(std::string_view name) const;
  std::optional<std::vector<float>> real_list(std::string_view name) const;
  std::optional<std::vector<std::string>> text_list(std::string_view name) const;
  const Tensor* tensor_attribute(std::string_view name) const;
  const HostBody& body_attribute(std::string_view name) const;  // malformed() where it is absent

  // Whether all inputs have their values, so that outputs are computed and not only shaped.
  bool computes() const { return computes_; }
  // Whether it is asked before a run, what is known of the outputs.
  bool is_before_run() const { return most_bytes_ != std::numeric_limits<std::int64_t>::max(); }
  bool wants(std::size_t index) const;  // the node has that output
  // Declares an output. Returns its tensor, zeros, to be filled; null where nothing is computed or
  // the node has no such output.
  Tensor* output(std::size_t index, DType dtype, Shape shape);
  // An output that is known even before a run: Shape's, say.
  void give(std::size_t index, Tensor tensor);
  // An output of which the shape alone is known, although all inputs may be.
  void give_shape(std::size_t index, DType dtype, Shape shape);

  // An axis from -rank to rank - 1 (`past_last`: to rank), as one from 0 on. malformed() beyond.
  std::size_t axis(std::int64_t axis, std::size_t rank, bool past_last = false) const;

  std::vector<HostArray> take_outputs() { return std::move(outputs_); }

 private:
  const HostAttribute* find(std::string_view name) const;
  template <typename T>
  const T* find_as(std::string_view name) const;

  const HostNode& node_;
  std::vector<const HostArray*> inputs_;
  std::vector<HostArray> outputs_;
  std::int64_t most_bytes_;
  bool computes_ = true;
};

// What two shapes become side by side, by NumPy's rules. malformed() where they do not fit.
Shape broadcast(const HostCall& call, const Shape& a, const Shape& b);

// For each element of `to`, row-major, the index of the element of a tensor of shape `from` that
// broadcasting has there. Steps of each axis of `to` through `from`, 0 where it is repeated.
std::vector<std::int64_t> broadcast_steps(const Shape& from, const Shape& to);
// Elements from one position of an axis to the next.
std::vector<std::int64_t> row_major_steps(const Shape& shape);

// Calls body(position, offset of each of `steps`) for each position of `shape`, row-major. With
// steps of tensors, offsets are indices of their elements.
template <std::size_t count, typename Body>
void for_each_position(const Shape& shape,
                       const std::array<std::vector<std::int64_t>, count>& steps, Body body) {
  const std::int64_t elements = element_count(shape);
  std::vector<std::int64_t> at(shape.size(), 0);
  std::array<std::int64_t, count> offsets{};
  for (std::int64_t i = 0; i < elements; ++i) {
    body(i, offsets);
    for (std::size_t d = shape.size(); d-- > 0;) {
      ++at[d];
      for (std::size_t s = 0; s < count; ++s) offsets[s] += steps[s][d];
      if (at[d] < shape[d]) break;
      for (std::size_t s = 0; s < count; ++s) offsets[s] -= steps[s][d] * shape[d];
      at[d] = 0;
    }
  }
}

// Calls body.template operator()<T>() with the C++ type of a dtype; bool's is std::uint8_t, 0 or 1.
template <typename Body>
decltype(auto) with_type(DType dtype, Body body) {
  switch (dtype) {
    case DType::kInt8:
      return body.template operator()<std::int8_t>();
    case DType::kUint8:
    case DType::kBool:
      return body.template operator()<std::uint8_t>();
    case DType::kInt16:
      return body.template operator()<std::int16_t>();
    case DType::kInt32:
      return body.template operator()<std::int32_t>();
    case DType::kInt64:
      return body.template operator()<std::int64_t>();
    case DType::kFloat64:
      return body.template operator()<double>();
    case DType::kFloat32:
      break;
  }
  return body.template operator()<float>();
}

// The elements as T, whatever the dtype calls them (bool as uint8).
template <typename T>
std::span<const T> elements(const Tensor& tensor) {
  return {reinterpret_cast<const T*>(tensor.bytes.data()), tensor.bytes.size() / sizeof(T)};
}
template <typename T>
std::span<T> elements(Tensor& tensor) {
  return {reinterpret_cast<T*>(tensor.bytes.data()), tensor.bytes.size() / sizeof(T)};
}

}  // namespace qsim::golden
