#include "golden/host/host_call.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "core/base/error.h"
#include "core/base/limits.h"
#include "core/base/printable.h"

namespace qsim::golden {

HostCall::HostCall(const HostNode& node, std::vector<const HostArray*> inputs,
                   std::int64_t most_bytes)
    : node_(node),
      inputs_(std::move(inputs)),
      outputs_(node.outputs.size()),
      most_bytes_(most_bytes) {
  for (const HostArray* input : inputs_) {
    if (input != nullptr && !input->has_values()) computes_ = false;
  }
}

void HostCall::refuse(const std::string& found, const std::string& supported) const {
  throw_unsupported(node_.source + ": " + found + "; supported: " + supported);
}

void HostCall::malformed(const std::string& found, const std::string& expected) const {
  throw_bad_input(node_.source + ": " + found + "; expected " + expected);
}

const HostArray& HostCall::array(std::size_t index) const {
  if (!has(index)) {
    malformed("input " + std::to_string(index) + " is absent", "it to be there");
  }
  return *inputs_[index];
}

const Tensor& HostCall::input(std::size_t index) const { return array(index).tensor; }

std::vector<std::int64_t> HostCall::integers(std::size_t index) const {
  const Tensor& tensor = input(index);
  if (!knows(index)) throw HostUnknown{};
  std::vector<std::int64_t> values;
  values.reserve(static_cast<std::size_t>(tensor.elems()));
  with_type(tensor.dtype, [&]<typename T>() {
    for (const T value : elements<T>(tensor)) {
      if constexpr (std::is_floating_point_v<T>) {
        if (!(std::abs(value) < T{0x1p63}) || value != std::floor(value)) {
          malformed("input " + std::to_string(index) + " is not of integers", "integers");
        }
      }
      values.push_back(static_cast<std::int64_t>(value));
    }
  });
  return values;
}

std::vector<double> HostCall::reals(std::size_t index) const {
  const Tensor& tensor = input(index);
  if (!knows(index)) throw HostUnknown{};
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(tensor.elems()));
  with_type(tensor.dtype, [&]<typename T>() {
    for (const T value : elements<T>(tensor)) values.push_back(static_cast<double>(value));
  });
  return values;
}

std::int64_t HostCall::integer(std::size_t index) const {
  const std::vector<std::int64_t> values = integers(index);
  if (values.size() != 1) {
    malformed(
        "input " + std::to_string(index) + " has " + std::to_string(values.size()) + " numbers",
        "one");
  }
  return values[0];
}

double HostCall::real(std::size_t index) const {
  const std::vector<double> values = reals(index);
  if (values.size() != 1) {
    malformed(
        "input " + std::to_string(index) + " has " + std::to_string(values.size()) + " numbers",
        "one");
  }
  return values[0];
}

const HostAttribute* HostCall::find(std::string_view name) const {
  const auto found = node_.attributes.find(name);
  return found == node_.attributes.end() ? nullptr : &found->second;
}

template <typename T>
const T* HostCall::find_as(std::string_view name) const {
  const HostAttribute* found = find(name);
  if (found == nullptr) return nullptr;
  const T* value = std::get_if<T>(found);
  if (value == nullptr) {
    malformed("attribute '" + std::string(name) + "' is of another type", "the operator's type");
  }
  return value;
}

bool HostCall::has_attribute(std::string_view name) const { return find(name) != nullptr; }

std::int64_t HostCall::attribute(std::string_view name, std::int64_t fallback) const {
  const auto* value = find_as<std::int64_t>(name);
  return value == nullptr ? fallback : *value;
}

float HostCall::attribute(std::string_view name, float fallback) const {
  const auto* value = find_as<float>(name);
  return value == nullptr ? fallback : *value;
}

std::string HostCall::attribute(std::string_view name, const char* fallback) const {
  const auto* value = find_as<std::string>(name);
  return value == nullptr ? fallback : *value;
}

std::optional<std::vector<std::int64_t>> HostCall::integer_list(std::string_view name) const {
  const auto* value = find_as<std::vector<std::int64_t>>(name);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

std::optional<std::vector<float>> HostCall::real_list(std::string_view name) const {
  const auto* value = find_as<std::vector<float>>(name);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

std::optional<std::vector<std::string>> HostCall::text_list(std::string_view name) const {
  const auto* value = find_as<std::vector<std::string>>(name);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

const Tensor* HostCall::tensor_attribute(std::string_view name) const {
  return find_as<Tensor>(name);
}

const HostBody& HostCall::body_attribute(std::string_view name) const {
  const auto* body = find_as<HostBody>(name);
  if (body == nullptr) malformed("no attribute " + std::string(name), "a graph");
  return *body;
}

bool HostCall::wants(std::size_t index) const {
  return index < node_.outputs.size() && node_.outputs[index] != kAbsentValue;
}

Tensor* HostCall::output(std::size_t index, DType dtype, Shape shape) {
  if (!wants(index)) return nullptr;
  HostArray& array = outputs_[index];
  if (element_count(shape) > kMaxTensorElems) {
    refuse("writes a tensor of " + std::to_string(element_count(shape)) + " elements",
           "at most " + std::to_string(kMaxTensorElems));
  }
  const auto bytes = element_count(shape) * static_cast<std::int64_t>(dtype_bytes(dtype));
  if (!computes_ || bytes > most_bytes_) {
    array.known = HostArray::Known::kShape;
    array.tensor.dtype = dtype;
    array.tensor.shape = std::move(shape);
    return nullptr;
  }
  array.known = HostArray::Known::kValues;
  array.tensor = Tensor(dtype, std::move(shape));
  return &array.tensor;
}

void HostCall::give(std::size_t index, Tensor tensor) {
  if (wants(index)) outputs_[index] = {HostArray::Known::kValues, std::move(tensor)};
}

void HostCall::give_shape(std::size_t index, DType dtype, Shape shape) {
  if (!wants(index)) return;
  outputs_[index].known = HostArray::Known::kShape;
  outputs_[index].tensor.dtype = dtype;
  outputs_[index].tensor.shape = std::move(shape);
}

std::size_t HostCall::axis(std::int64_t axis, std::size_t rank, bool past_last) const {
  const auto size = static_cast<std::int64_t>(rank);
  const std::int64_t end = past_last ? size + 1 : size;
  const std::int64_t counted = axis < 0 ? axis + end : axis;
  if (counted < 0 || counted >= end) {
    malformed("axis " + std::to_string(axis) + " of " + std::to_string(rank) + " axes",
              std::to_string(-end) + " to " + std::to_string(end - 1));
  }
  return static_cast<std::size_t>(counted);
}

Shape broadcast(const HostCall& call, const Shape& a, const Shape& b) {
  Shape both(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 0; i < both.size(); ++i) {  // from the last axis on
    const std::int64_t of_a = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t of_b = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (of_a != of_b && of_a != 1 && of_b != 1) {
      call.malformed("shapes " + shape_text(a) + " and " + shape_text(b),
                     "two that broadcast to one");
    }
    both[both.size() - 1 - i] = of_a == 1 ? of_b : of_a;
  }
  return both;
}

std::vector<std::int64_t> row_major_steps(const Shape& shape) {
  std::vector<std::int64_t> steps(shape.size(), 1);
  // Where a dimension is 0, the others' product may be anything, and no step is taken.
  if (std::ranges::find(shape, 0) != shape.end()) return steps;
  for (std::size_t d = shape.size(); d-- > 1;) steps[d - 1] = steps[d] * shape[d];
  return steps;
}

std::vector<std::int64_t> broadcast_steps(const Shape& from, const Shape& to) {
  const std::vector<std::int64_t> own = row_major_steps(from);
  std::vector<std::int64_t> steps(to.size(), 0);
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[from.size() - 1 - i] != 1) steps[to.size() - 1 - i] = own[from.size() - 1 - i];
  }
  return steps;
}

}  // namespace qsim::golden
