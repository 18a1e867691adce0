#include "core/base/tensor.h"

#include "core/base/checked_math.h"

namespace qsim {

std::size_t dtype_bytes(DType dtype) {
  if (dtype == DType::kInt16) return 2;
  return dtype == DType::kInt32 || dtype == DType::kFloat32 ? 4 : 1;
}

std::string_view dtype_name(DType dtype) {
  switch (dtype) {
    case DType::kInt8:
      return "int8";
    case DType::kUint8:
      return "uint8";
    case DType::kInt32:
      return "int32";
    case DType::kFloat32:
      return "float32";
    case DType::kInt16:
      return "int16";
  }
  return "?";
}

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
