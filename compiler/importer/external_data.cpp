#include "compiler/importer/external_data.h"

#include <charconv>
#include <memory>
#include <optional>
#include <span>

#include "core/error.h"
#include "files/file_beneath.h"
#include "files/files.h"
#include "files/memory.h"

namespace qsim {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLfsPointerMaxBytes = 1024;  // by the git-LFS specification

struct Location {
  std::string file;
  std::int64_t offset = 0;
  std::optional<std::int64_t> length;
};

std::int64_t parse_count(const std::string& key, const std::string& text,
                         const std::string& where) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    throw_bad_input(where + ": external data " + key + " is '" + text +
                    "'; expected a number of bytes");
  }
  return value;
}

Location parse_location(const onnx::TensorProto& proto, const std::string& where) {
  Location location;
  for (const onnx::StringStringEntryProto& entry : proto.external_data()) {
    if (entry.key() == "location") {
      location.file = entry.value();
    } else if (entry.key() == "offset") {
      location.offset = parse_count("offset", entry.value(), where);
    } else if (entry.key() == "length") {
      location.length = parse_count("length", entry.value(), where);
    } else if (entry.key() != "checksum") {
      throw_bad_input(where + ": external data has the key '" + entry.key() +
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

}  // namespace

ReadBytes open_external_data(const onnx::TensorProto& proto, std::int64_t expected,
                             const fs::path& folder, const std::string& where,
                             const OnExternalFile& on_file) {
  const Location location = parse_location(proto, where);
  if (location.length && *location.length != expected) {
    throw_bad_input(where + ": external data of " + std::to_string(*location.length) +
                    " bytes; expected " + std::to_string(expected));
  }
  const auto file = std::make_shared<const FileBeneath>(folder, location.file, where);
  if (on_file) on_file(folder / location.file);
  refuse_pointer(*file, folder / location.file);
  if (expected > file->bytes() || location.offset > file->bytes() - expected) {
    throw_bad_input(where + ": external data file '" + (folder / location.file).string() +
                    "' has " + std::to_string(file->bytes()) + " bytes; expected " +
                    std::to_string(expected) + " from offset " + std::to_string(location.offset));
  }
  require_memory(expected, where);
  return [file, start = location.offset](std::int64_t offset, std::span<std::byte> to) {
    file->read(start + offset, to);
  };
}

}  // namespace qsim
