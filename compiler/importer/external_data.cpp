#include "compiler/importer/external_data.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "core/error.h"
#include "core/limits.h"
#include "core/printable.h"
#include "files/file_beneath.h"
#include "files/files.h"
#include "files/memory.h"
#include "files/sha1.h"

namespace qsim {
namespace {

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

}  // namespace

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

}  // namespace qsim
