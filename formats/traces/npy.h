// NumPy's .npy files: versions 1.0 to 3.0 are read, 1.0 is written. Element types int8, uint8,
// int16, int32 and float32, little-endian, C order; nothing is converted. An NpyArray has any
// element type.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/tensor.h"

namespace qsim::formats {

// Throws Error naming the file, what was found and what is allowed: another magic or version, a
// malformed header, another dtype, Fortran order, fewer or more bytes than the shape needs.
Tensor read_npy(const std::filesystem::path& path);

// The same, also of int64, float64 and bool, which a host takes; float16 becomes float32.
Tensor read_host_npy(const std::filesystem::path& path);

// The same as read_npy() for bytes in memory; `source` names them in errors.
Tensor parse_npy(std::span<const std::byte> bytes, const std::string& source);

// The file's content for `tensor`.
std::string npy_bytes(const Tensor& tensor);

// Writes atomically (formats/files/files.h).
void write_npy(const std::filesystem::path& path, const Tensor& tensor);

// An element type by NumPy's descr ("<f2") and by the name that messages give it ("float16").
struct NpyType {
  std::string_view descr;
  std::string_view name;
  std::size_t bytes;
};

// The element types of quantized inference; BF16 and FP8 have none in NumPy, and travel as the
// bits of a uint16 and a uint8.
inline constexpr NpyType kNpyInt8{"|i1", "int8", 1};
inline constexpr NpyType kNpyUint8{"|u1", "uint8", 1};
inline constexpr NpyType kNpyUint16{"<u2", "uint16", 2};
inline constexpr NpyType kNpyInt32{"<i4", "int32", 4};
inline constexpr NpyType kNpyInt64{"<i8", "int64", 8};
inline constexpr NpyType kNpyFloat16{"<f2", "float16", 2};
inline constexpr NpyType kNpyFloat32{"<f4", "float32", 4};

// An array as the file holds it: row-major, little-endian.
struct NpyArray {
  std::string descr;  // as in NpyType
  Shape shape;
  std::vector<std::byte> bytes;
};

// Throws Error as read_npy does; a descr that is none of `allowed` is such an error.
NpyArray read_npy_array(const std::filesystem::path& path, std::span<const NpyType> allowed);
NpyArray parse_npy_array(std::span<const std::byte> bytes, std::span<const NpyType> allowed,
                         const std::string& source);

// What the file has before the elements.
std::string npy_array_header(std::string_view descr, const Shape& shape);
// Writes atomically (formats/files/files.h).
void write_npy_array(const std::filesystem::path& path, const NpyArray& array);

}  // namespace qsim::formats
