#include "compiler/importer/tensor_proto.h"

#include <cstring>
#include <limits>
#include <optional>

#include "compiler/importer/external_data.h"
#include "core/checked_math.h"

namespace qsim {
namespace {

using onnx::TensorProto;

[[noreturn]] void fail_count(const std::string& where, const std::string& found, const Shape& shape,
                             std::int64_t expected) {
  throw_bad_input(where + ": holds " + found + "; expected " + std::to_string(expected) +
                  " for shape " + shape_text(shape));
}

Shape dims_of(const TensorProto& proto, const std::string& where) {
  const Shape shape(proto.dims().begin(), proto.dims().end());
  for (const std::int64_t dim : shape) {
    if (dim < 0)
      throw_bad_input(where + ": shape " + shape_text(shape) + " has a negative dimension");
  }
  return shape;
}

// The tensor's bytes in little-endian element order, or nothing when the values stand in the typed
// fields.
std::optional<std::vector<std::byte>> stored_bytes(const TensorProto& proto, std::int64_t expected,
                                                   const std::filesystem::path& folder,
                                                   const std::string& where) {
  if (proto.has_segment()) {
    throw_unsupported(where + ": stored in segments; supported: a whole tensor");
  }
  if (proto.data_location() == TensorProto::EXTERNAL) {
    return read_external_data(proto, expected, folder, where);
  }
  if (!proto.has_raw_data()) return std::nullopt;
  const std::string& raw = proto.raw_data();
  if (static_cast<std::int64_t>(raw.size()) != expected) {
    fail_count(where, std::to_string(raw.size()) + " bytes", dims_of(proto, where), expected);
  }
  std::vector<std::byte> bytes(raw.size());
  if (!raw.empty()) std::memcpy(bytes.data(), raw.data(), raw.size());
  return bytes;
}

// Converts a typed field, whose elements may be wider than the tensor's, into little-endian bytes.
template <typename T, typename Field>
std::vector<std::byte> typed_bytes(const Field& field, const Shape& shape, std::int64_t count,
                                   const std::string& where) {
  if (field.size() != count) {
    fail_count(where, std::to_string(field.size()) + " values", shape, count);
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(count) * sizeof(T));
  for (int i = 0; i < field.size(); ++i) {
    const auto wide = field.Get(i);
    const auto value = static_cast<T>(wide);
    if constexpr (std::numeric_limits<T>::is_integer) {
      if (static_cast<decltype(wide)>(value) != wide) {
        throw_bad_input(where + ": value " + std::to_string(wide) + " at index " +
                        std::to_string(i) + "; expected " +
                        std::to_string(std::numeric_limits<T>::min()) + ".." +
                        std::to_string(std::numeric_limits<T>::max()));
      }
    }
    std::memcpy(bytes.data() + static_cast<std::size_t>(i) * sizeof(T), &value, sizeof(T));
  }
  return bytes;
}

std::vector<std::byte> typed_field_bytes(const TensorProto& proto, DType dtype, const Shape& shape,
                                         const std::string& where) {
  const std::int64_t count = element_count(shape);
  switch (dtype) {
    case DType::kInt8:
      return typed_bytes<std::int8_t>(proto.int32_data(), shape, count, where);
    case DType::kUint8:
      return typed_bytes<std::uint8_t>(proto.int32_data(), shape, count, where);
    case DType::kInt32:
      return typed_bytes<std::int32_t>(proto.int32_data(), shape, count, where);
    case DType::kFloat32:
      return typed_bytes<float>(proto.float_data(), shape, count, where);
  }
  return {};
}

DType core_dtype(const TensorProto& proto, const std::string& where) {
  switch (proto.data_type()) {
    case TensorProto::INT8:
      return DType::kInt8;
    case TensorProto::UINT8:
      return DType::kUint8;
    case TensorProto::INT32:
      return DType::kInt32;
    case TensorProto::FLOAT:
      return DType::kFloat32;
    case TensorProto::UNDEFINED:
      throw_bad_input(where + ": has no element type");
    default:
      throw_unsupported(where + ": is " + onnx_dtype_name(proto.data_type()) +
                        "; supported: int8, uint8, int32, float32");
  }
}

}  // namespace

std::string onnx_dtype_name(int data_type) {
  if (!onnx::TensorProto::DataType_IsValid(data_type)) {
    return "element type " + std::to_string(data_type);
  }
  if (data_type == TensorProto::FLOAT) return "float32";
  std::string name =
      onnx::TensorProto::DataType_Name(static_cast<onnx::TensorProto::DataType>(data_type));
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return name;
}

Tensor decode_tensor(const TensorProto& proto, const std::filesystem::path& folder,
                     const std::string& where) {
  Tensor tensor;
  tensor.dtype = core_dtype(proto, where);
  tensor.shape = dims_of(proto, where);
  const std::int64_t expected =
      checked_mul(tensor.elems(), static_cast<std::int64_t>(dtype_bytes(tensor.dtype)));
  auto bytes = stored_bytes(proto, expected, folder, where);
  tensor.bytes =
      bytes ? std::move(*bytes) : typed_field_bytes(proto, tensor.dtype, tensor.shape, where);
  return tensor;
}

std::vector<std::int64_t> decode_int64s(const TensorProto& proto,
                                        const std::filesystem::path& folder,
                                        const std::string& where) {
  const Shape shape = dims_of(proto, where);
  if (proto.data_type() != TensorProto::INT64 || shape.size() > 1) {
    throw_bad_input(where + ": is " + onnx_dtype_name(proto.data_type()) + " " + shape_text(shape) +
                    "; expected a list of int64");
  }
  const std::int64_t count = element_count(shape);
  const auto stored = stored_bytes(proto, checked_mul(count, 8), folder, where);
  const std::vector<std::byte> bytes =
      stored ? *stored : typed_bytes<std::int64_t>(proto.int64_data(), shape, count, where);
  std::vector<std::int64_t> values(static_cast<std::size_t>(count));
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

}  // namespace qsim
