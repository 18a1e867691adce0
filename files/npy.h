// NumPy's .npy files: versions 1.0 to 3.0 are read, 1.0 is written. Element types int8, uint8,
// int32 and float32, little-endian, C order; nothing is converted.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "core/tensor.h"

namespace qsim {

// Throws Error naming the file, what was found and what is allowed: another magic or version, a
// malformed header, another dtype, Fortran order, fewer or more bytes than the shape needs.
Tensor read_npy(const std::filesystem::path& path);

// The same for bytes in memory; `source` names them in errors.
Tensor parse_npy(std::span<const std::byte> bytes, const std::string& source);

// The file's content for `tensor`.
std::string npy_bytes(const Tensor& tensor);

// Writes atomically (files/files.h).
void write_npy(const std::filesystem::path& path, const Tensor& tensor);

}  // namespace qsim
