// A dense tensor: element type, shape, bytes in row-major order. The code that uses a tensor
// defines what its axes mean: activations are [N][H][W][C], weights [Cout][kh][kw][Cin].
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"

namespace qsim {

// The last three are of tensors of a host alone (core/network/host_network.h). kBool has a byte an
// element, 0 or 1.
enum class DType : std::uint8_t {
  kInt8,
  kUint8,
  kInt32,
  kFloat32,
  kInt16,
  kInt64,
  kFloat64,
  kBool
};

std::size_t dtype_bytes(DType dtype);
std::string_view dtype_name(DType dtype);  // "int8", "float32", "bool", ...

template <typename T>
constexpr DType dtype_of();
template <>
constexpr DType dtype_of<std::int8_t>() {
  return DType::kInt8;
}
template <>
constexpr DType dtype_of<std::uint8_t>() {
  return DType::kUint8;
}
template <>
constexpr DType dtype_of<std::int16_t>() {
  return DType::kInt16;
}
template <>
constexpr DType dtype_of<std::int32_t>() {
  return DType::kInt32;
}
template <>
constexpr DType dtype_of<std::int64_t>() {
  return DType::kInt64;
}
template <>
constexpr DType dtype_of<double>() {
  return DType::kFloat64;
}
template <>
constexpr DType dtype_of<float>() {
  return DType::kFloat32;
}

using Shape = std::vector<std::int64_t>;

// Product of the dimensions; 1 for a scalar. Throws Error on overflow or a negative dimension.
std::int64_t element_count(const Shape& shape);
// "[1, 32, 32, 3]"
std::string shape_text(const Shape& shape);

struct Tensor {
  DType dtype = DType::kInt8;
  Shape shape;
  std::vector<std::byte> bytes;

  Tensor() = default;
  // A tensor of zeros.
  Tensor(DType dtype, Shape shape);

  std::int64_t elems() const { return element_count(shape); }

  // The elements, row-major; T must be the tensor's dtype.
  template <typename T>
  std::span<T> as() {
    QSIM_CHECK(dtype == dtype_of<T>(), "tensor holds " + std::string(dtype_name(dtype)));
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  template <typename T>
  std::span<const T> as() const {
    QSIM_CHECK(dtype == dtype_of<T>(), "tensor holds " + std::string(dtype_name(dtype)));
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }

  bool operator==(const Tensor&) const = default;
};

template <typename T>
Tensor make_tensor(Shape shape, std::span<const T> values) {
  Tensor tensor(dtype_of<T>(), std::move(shape));
  QSIM_CHECK(tensor.bytes.size() == values.size_bytes(), "values do not fill the shape");
  std::copy(values.begin(), values.end(), tensor.as<T>().begin());
  return tensor;
}

}  // namespace qsim
