#include "core/base/tensor.h"

#include <array>

#include "core/base/checked_math.h"

namespace qsim {

namespace {

struct DTypeRow {
  std::string_view name;
  std::size_t bytes;
};
constexpr std::array<DTypeRow, 8> kDTypes = {{
    {"int8", 1},
    {"uint8", 1},
    {"int32", 4},
    {"float32", 4},
    {"int16", 2},
    {"int64", 8},
    {"float64", 8},
    {"bool", 1},
}};

}  // namespace

std::size_t dtype_bytes(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)].bytes; }

std::string_view dtype_name(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)].name; }

std::int64_t element_count(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t dim : shape) {
    if (dim < 0) throw_bad_input("shape " + shape_text(shape) + " has a negative dimension");
    count = checked_mul(count, dim);
  }
  return count;
}

std::string shape_text(const Shape& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  }
  return text + "]";
}

Tensor::Tensor(DType dtype_in, Shape shape_in)
    : dtype(dtype_in),
      shape(std::move(shape_in)),
      bytes(static_cast<std::size_t>(
          checked_mul(element_count(shape), static_cast<std::int64_t>(dtype_bytes(dtype_in))))) {}

}  // namespace qsim
