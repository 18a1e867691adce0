#include "formats/onnx/importer/tensor_proto.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

#include "core/base/checked_math.h"
#include "core/base/error.h"
#include "core/base/limits.h"
#include "core/base/printable.h"
#include "core/numerics/half.h"
#include "formats/files/file_beneath.h"
#include "formats/files/files.h"
#include "formats/files/memory.h"
#include "formats/files/sha1.h"
#include "formats/onnx/importer/model_file.h"
#include "formats/onnx/importer/stored_bytes.h"

namespace qsim::formats {
namespace {

// Tensor data that ONNX keeps in files of its own, beside the model.

struct ExternalFiles {
  std::filesystem::path folder;  // the model's
  FileChecksums& checksums;
  const OnExternalFile& on_file;
};

namespace fs = std::filesystem;

constexpr std::int64_t kLfsPointerMaxBytes = 1024;  // by the git-LFS specification

struct Location {
  std::string file;
  std::int64_t offset = 0;
  std::optional<std::int64_t> length;
  std::string checksum;  // SHA-1 of the whole file, lower case; "" where there is none
};

std::int64_t parse_count(const std::string& key, const std::string& text,
                         const std::string& where) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    throw_bad_input(where + ": external data " + key + " is '" + echoed(text) +
                    "'; expected a number of bytes");
  }
  return value;
}

std::string parse_checksum(const std::string& text, const std::string& where) {
  constexpr std::size_t kDigits = 40;
  std::string digits = text;
  bool is_hex = text.size() == kDigits;
  for (char& c : digits) {
    is_hex = is_hex && std::isxdigit(static_cast<unsigned char>(c)) != 0;
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  if (is_hex) return digits;
  throw_bad_input(where + ": external data checksum is '" + echoed(text) +
                  "'; expected the 40 hexadecimal digits of a SHA-1");
}

Location parse_location(const onnx::TensorProto& proto, const std::string& where) {
  Location location;
  std::set<std::string> seen;
  for (const onnx::StringStringEntryProto& entry : proto.external_data()) {
    if (!seen.insert(entry.key()).second) {
      throw_bad_input(where + ": external data has the key '" + echoed(entry.key()) +
                      "' twice; expected once");
    }
    if (entry.key() == "location") {
      location.file = entry.value();
    } else if (entry.key() == "offset") {
      location.offset = parse_count("offset", entry.value(), where);
    } else if (entry.key() == "length") {
      location.length = parse_count("length", entry.value(), where);
    } else if (entry.key() == "checksum") {
      location.checksum = parse_checksum(entry.value(), where);
    } else {
      throw_bad_input(where + ": external data has the key '" + echoed(entry.key()) +
                      "'; expected location, offset, length, checksum");
    }
  }
  return location;
}

// A pointer is short, so that no more than that is read to tell.
void refuse_pointer(const FileBeneath& file, const fs::path& name) {
  if (file.bytes() >= kLfsPointerMaxBytes) return;
  std::string text(static_cast<std::size_t>(file.bytes()), ' ');
  file.read(0, std::as_writable_bytes(std::span(text)));
  refuse_lfs_pointer(name, text);
}

std::string checksum_of(const FileBeneath& file) {
  constexpr std::int64_t kStep = 1 << 20;
  std::vector<std::byte> bytes;
  Sha1 sha1;
  for (std::int64_t at = 0; at < file.bytes(); at += std::ssize(bytes)) {
    bytes.resize(static_cast<std::size_t>(std::min(kStep, file.bytes() - at)));
    file.read(at, bytes);
    sha1.add(bytes);
  }
  return sha1.finish();
}

void check_checksum(const FileBeneath& file, const std::string& expected, FileChecksums& known,
                    const std::string& what) {
  if (file.bytes() > kMaxFileBytes) {
    throw_bad_input(what + " has a checksum and " + std::to_string(file.bytes()) +
                    " bytes; expected at most " + std::to_string(kMaxFileBytes) +
                    ", since all are read for a checksum");
  }
  const auto [found, is_new] = known.try_emplace(file.identity());
  if (is_new) found->second = checksum_of(file);
  if (found->second == expected) return;
  throw_bad_input(what + " has the SHA-1 " + found->second + "; expected " + expected +
                  ", the checksum in the model");
}

// The `expected` bytes that proto.external_data points to. The location must be a relative path
// without '..' that ends, links followed, beneath the folder: a model cannot make qsim read other
// files. Where the model gives the file's checksum, the file must have it. `where` opens every
// error. `files.on_file`, unless empty, is told of the file before it is read.
ReadBytes open_external_data(const onnx::TensorProto& proto, std::int64_t expected,
                             const ExternalFiles& files, const std::string& where) {
  const fs::path& folder = files.folder;
  const Location location = parse_location(proto, where);
  if (location.length && *location.length != expected) {
    throw_bad_input(where + ": external data of " + std::to_string(*location.length) +
                    " bytes; expected " + std::to_string(expected));
  }
  const auto file = std::make_shared<const FileBeneath>(folder, location.file, where);
  if (files.on_file) files.on_file(folder / location.file);
  refuse_pointer(*file, folder / location.file);
  if (expected > file->bytes() || location.offset > file->bytes() - expected) {
    throw_bad_input(where + ": external data file '" + echoed((folder / location.file).string()) +
                    "' has " + std::to_string(file->bytes()) + " bytes; expected " +
                    std::to_string(expected) + " from offset " + std::to_string(location.offset));
  }
  if (!location.checksum.empty()) {
    const std::string name = echoed((folder / location.file).string());
    check_checksum(*file, location.checksum, files.checksums,
                   where + ": external data file '" + name + "'");
  }
  require_memory(expected, where);
  return [file, start = location.offset](std::int64_t offset, std::span<std::byte> to) {
    file->read(start + offset, to);
  };
}

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

// A product of sizes that does not fit 64 bits knows nothing of the tensor.
std::int64_t data_bytes(const Shape& shape, std::int64_t elem_bytes, const std::string& where) {
  try {
    return checked_mul(element_count(shape), elem_bytes);
  } catch (const Error& error) {
    throw_bad_input(where + ": " + error.what());
  }
}

// The tensor's bytes in little-endian element order, or nothing when the values are in the typed
// fields.
ReadBytes stored_bytes(const TensorProto& proto, std::int64_t expected, const TensorFiles& files,
                       const std::string& where) {
  if (proto.has_segment()) {
    throw_unsupported(where + ": stored in segments; supported: a whole tensor");
  }
  if (proto.data_location() == TensorProto::EXTERNAL) {
    return open_external_data(proto, expected, {files.folder, *files.checksums, files.on_external},
                              where);
  }
  if (!files.raw_data && !proto.has_raw_data()) return nullptr;
  const std::int64_t found = files.raw_data ? files.raw_data->bytes : std::ssize(proto.raw_data());
  if (found != expected) {
    fail_count(where, std::to_string(found) + " bytes", dims_of(proto, where), expected);
  }
  if (!files.raw_data) {
    const auto raw = std::as_bytes(std::span(proto.raw_data()));
    return bytes_in_memory({raw.begin(), raw.end()});
  }
  return [file = files.model, start = files.raw_data->offset](
             std::int64_t offset, std::span<std::byte> to) { file->read(start + offset, to); };
}

// Converts a typed field, whose elements may be wider than the tensor's, into little-endian bytes.
template <typename T, typename Field>
std::vector<std::byte> typed_bytes(const Field& field, const Shape& shape, std::int64_t count,
                                   const std::string& where) {
  if (field.size() != count) {
    fail_count(where, std::to_string(field.size()) + " values", shape, count);
  }
  require_memory(count * static_cast<std::int64_t>(sizeof(T)), where);
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
    case DType::kInt16:
      return typed_bytes<std::int16_t>(proto.int32_data(), shape, count, where);
    case DType::kInt32:
      return typed_bytes<std::int32_t>(proto.int32_data(), shape, count, where);
    case DType::kFloat32:
      return typed_bytes<float>(proto.float_data(), shape, count, where);
    case DType::kInt64:
      return typed_bytes<std::int64_t>(proto.int64_data(), shape, count, where);
    case DType::kFloat64:
      return typed_bytes<double>(proto.double_data(), shape, count, where);
    case DType::kBool:
      return typed_bytes<std::uint8_t>(proto.int32_data(), shape, count, where);
  }
  return {};
}

// An element type as a file stores it, and what it is to a host.
struct StoredType {
  int data_type;
  DType host;
  int bits;  // that an element takes in the file
};
constexpr int kUint4 = 21;  // TensorProto's numbers, which older libraries don't name
constexpr int kInt4 = 22;
constexpr std::array<StoredType, 15> kStoredTypes = {{
    {TensorProto::FLOAT, DType::kFloat32, 32},
    {TensorProto::FLOAT16, DType::kFloat32, 16},
    {TensorProto::BFLOAT16, DType::kFloat32, 16},
    {TensorProto::DOUBLE, DType::kFloat64, 64},
    {TensorProto::INT8, DType::kInt8, 8},
    {TensorProto::UINT8, DType::kUint8, 8},
    {TensorProto::INT16, DType::kInt16, 16},
    {TensorProto::UINT16, DType::kInt32, 16},
    {TensorProto::INT32, DType::kInt32, 32},
    {TensorProto::UINT32, DType::kInt64, 32},
    {TensorProto::INT64, DType::kInt64, 64},
    {TensorProto::UINT64, DType::kInt64, 64},
    {TensorProto::BOOL, DType::kBool, 8},
    {kUint4, DType::kUint8, 4},
    {kInt4, DType::kInt8, 4},
}};

const StoredType* stored_type(int data_type) {
  const auto* const found = std::ranges::find(kStoredTypes, data_type, &StoredType::data_type);
  return found == kStoredTypes.end() ? nullptr : found;
}

// Two elements a byte, the first in the low half.
std::uint8_t half_byte(const std::vector<std::byte>& bytes, std::size_t index) {
  return std::to_integer<std::uint8_t>(bytes[index / 2] >> (index % 2 * 4)) & 0xF;
}

// `bytes` hold the file's elements, `to` the host's.
void widen(const std::vector<std::byte>& bytes, int data_type, Tensor& to) {
  const auto count = static_cast<std::size_t>(to.elems());
  const auto sixteen = [&](std::size_t i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, bytes.data() + 2 * i, 2);
    return bits;
  };
  for (std::size_t i = 0; i < count; ++i) {
    if (data_type == TensorProto::FLOAT16) {
      to.as<float>()[i] = float_of_half(sixteen(i));
    } else if (data_type == TensorProto::BFLOAT16) {
      to.as<float>()[i] = std::bit_cast<float>(std::uint32_t{sixteen(i)} << 16);
    } else if (data_type == TensorProto::UINT16) {
      to.as<std::int32_t>()[i] = sixteen(i);
    } else if (data_type == TensorProto::UINT32) {
      std::uint32_t value = 0;
      std::memcpy(&value, bytes.data() + 4 * i, 4);
      to.as<std::int64_t>()[i] = value;
    } else if (data_type == kUint4) {
      to.as<std::uint8_t>()[i] = half_byte(bytes, i);
    } else {
      const std::uint8_t bits = half_byte(bytes, i);
      to.as<std::int8_t>()[i] = static_cast<std::int8_t>(bits < 8 ? bits : bits - 16);
    }
  }
}

// The file's elements where typed fields hold them: those of 16 bits or fewer, and int4's bytes,
// in int32_data; uint32 and uint64 in uint64_data.
std::vector<std::byte> typed_stored_bytes(const TensorProto& proto, const StoredType& type,
                                          const Shape& shape, std::int64_t bytes,
                                          const std::string& where) {
  const std::int64_t count = element_count(shape);
  if (type.bits == 4) return typed_bytes<std::uint8_t>(proto.int32_data(), shape, bytes, where);
  if (type.bits == 16 && type.host != DType::kInt16) {
    return typed_bytes<std::uint16_t>(proto.int32_data(), shape, count, where);
  }
  if (type.data_type == TensorProto::UINT32) {
    return typed_bytes<std::uint32_t>(proto.uint64_data(), shape, count, where);
  }
  if (type.data_type == TensorProto::UINT64) {
    return typed_bytes<std::int64_t>(proto.uint64_data(), shape, count, where);
  }
  return typed_field_bytes(proto, type.host, shape, where);
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

TensorFiles files_of(const ModelFile& file, const onnx::TensorProto& proto) {
  TensorFiles files{file.path().parent_path(), file.held};
  files.checksums = file.checksums;
  files.on_external = file.on_external;
  const auto raw_data = file.raw_data.find(&proto);
  if (raw_data != file.raw_data.end()) files.raw_data = raw_data->second;
  return files;
}

StoredTensor store_tensor(const TensorProto& proto, const TensorFiles& files,
                          const std::string& where) {
  StoredTensor stored;
  stored.dtype = core_dtype(proto, where);
  stored.shape = dims_of(proto, where);
  const std::int64_t expected =
      data_bytes(stored.shape, static_cast<std::int64_t>(dtype_bytes(stored.dtype)), where);
  stored.read = stored_bytes(proto, expected, files, where);
  if (!stored.read) {
    stored.read = bytes_in_memory(typed_field_bytes(proto, stored.dtype, stored.shape, where));
  }
  require_memory(expected, where);
  return stored;
}

std::optional<DType> host_dtype(int data_type) {
  const StoredType* const type = stored_type(data_type);
  return type == nullptr ? std::nullopt : std::optional(type->host);
}

bool is_wider_on_host(int data_type) {
  const StoredType* const type = stored_type(data_type);
  return type != nullptr && type->bits < static_cast<int>(8 * dtype_bytes(type->host));
}

Tensor decode_host_tensor(const TensorProto& proto, const TensorFiles& files,
                          const std::string& where) {
  const StoredType* const type = stored_type(proto.data_type());
  if (type == nullptr) {
    throw_unsupported(where + ": is " + onnx_dtype_name(proto.data_type()) +
                      "; supported: numbers of at least 4 bits, bool");
  }
  const Shape shape = dims_of(proto, where);
  const std::int64_t bytes = ceil_div(data_bytes(shape, type->bits, where), 8);
  require_memory(data_bytes(shape, static_cast<std::int64_t>(dtype_bytes(type->host)), where),
                 where);
  ReadBytes read = stored_bytes(proto, bytes, files, where);
  if (!read) read = bytes_in_memory(typed_stored_bytes(proto, *type, shape, bytes, where));
  Tensor tensor(type->host, shape);
  if (type->bits == static_cast<int>(8 * dtype_bytes(type->host))) {
    read(0, tensor.bytes);
    return tensor;
  }
  std::vector<std::byte> stored(static_cast<std::size_t>(bytes));
  read(0, stored);
  widen(stored, type->data_type, tensor);
  return tensor;
}

std::vector<std::int64_t> decode_int64s(const TensorProto& proto, const TensorFiles& files,
                                        const std::string& where) {
  const Shape shape = dims_of(proto, where);
  if (proto.data_type() != TensorProto::INT64 || shape.size() > 1) {
    throw_bad_input(where + ": is " + onnx_dtype_name(proto.data_type()) + " " + shape_text(shape) +
                    "; expected a list of int64");
  }
  return decode_int64_elements(proto, files, where);
}

std::vector<std::int64_t> decode_int64_elements(const TensorProto& proto, const TensorFiles& files,
                                                const std::string& where) {
  const Shape shape = dims_of(proto, where);
  const std::int64_t expected = data_bytes(shape, 8, where);
  const std::int64_t count = expected / 8;
  ReadBytes read = stored_bytes(proto, expected, files, where);
  if (!read) {
    read = bytes_in_memory(typed_bytes<std::int64_t>(proto.int64_data(), shape, count, where));
  }
  std::vector<std::int64_t> values(static_cast<std::size_t>(count));
  read(0, std::as_writable_bytes(std::span(values)));
  return values;
}

}  // namespace qsim::formats
