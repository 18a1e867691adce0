// A fingerprint of files for provenance: FNV-1a, 64 bits, of the bytes. Not cryptographic.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "formats/files/held_file.h"

namespace qsim::cli {

// "fnv1a64:0123456789abcdef" of a file; of a folder, of its files' names and bytes in the order of
// the names; "" of a pipe, whose bytes are gone. Throws Error when something cannot be read, and
// for a device.
std::string file_hash(const std::filesystem::path& path);

// The hash of the bytes that were read. Throws Error when the file was written to since.
std::string file_hash(const formats::HeldFile& file);

// Hashes an ONNX model: its file, its external data, and its sidecar where one is named. A model of
// one file has that file's hash.
std::string model_hash(const std::shared_ptr<const formats::HeldFile>& onnx,
                       const std::filesystem::path& sidecar = {});

std::string text_hash(std::string_view text);

}  // namespace qsim::cli
