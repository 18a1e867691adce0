// A fingerprint of files for provenance: FNV-1a, 64 bits, of the bytes. Not cryptographic.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "files/held_file.h"

namespace qsim {

// "fnv1a64:0123456789abcdef" of a file; of a folder, of its files' names and bytes in the order of
// the names; "" of a pipe, whose bytes are gone. Throws Error when something cannot be read.
std::string file_hash(const std::filesystem::path& path);

// Of what was read of it. Throws Error when it was written to since.
std::string file_hash(const HeldFile& file);

// Of a text.
std::string text_hash(std::string_view text);

}  // namespace qsim
