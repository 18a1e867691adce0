#include "compiler/importer/external_data.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/checked_math.h"
#include "core/io/files.h"

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

bool is_beneath(const fs::path& file, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first ==
         folder.end();
}

fs::path resolve(const std::string& file, const fs::path& folder, const std::string& where) {
  const fs::path relative(file);
  const bool climbs = std::find(relative.begin(), relative.end(), fs::path("..")) != relative.end();
  if (file.empty() || file.find('\0') != std::string::npos || relative.is_absolute() || climbs) {
    throw_bad_input(where + ": external data location '" + file +
                    "'; expected a path beneath the model's folder, without '..'");
  }
  std::error_code error;
  const fs::path home = fs::canonical(folder.empty() ? fs::path(".") : folder, error);
  const fs::path target = error ? fs::path() : fs::canonical(home / relative, error);
  if (error) {
    throw_bad_input(where + ": external data file '" + (folder / relative).string() +
                    "' cannot be found: " + error.message());
  }
  if (!is_beneath(target, home)) {
    throw_bad_input(where + ": external data location '" + file +
                    "' leads out of the model's folder; expected a file beneath it");
  }
  if (!fs::is_regular_file(target, error)) {
    throw_bad_input(where + ": external data location '" + file + "' is no regular file");
  }
  return target;
}

}  // namespace

std::vector<std::byte> read_external_data(const onnx::TensorProto& proto, std::int64_t expected,
                                          const fs::path& folder, const std::string& where) {
  const Location location = parse_location(proto, where);
  const fs::path path = resolve(location.file, folder, where);
  if (location.length && *location.length != expected) {
    throw_bad_input(where + ": external data of " + std::to_string(*location.length) +
                    " bytes; expected " + std::to_string(expected));
  }
  const std::int64_t available = file_bytes(path);
  if (available < kLfsPointerMaxBytes) read_binary_file(path);  // refuses a pointer by name
  if (checked_add(location.offset, expected) > available) {
    throw_bad_input(where + ": external data file '" + path.string() + "' has " +
                    std::to_string(available) + " bytes; expected " + std::to_string(expected) +
                    " from offset " + std::to_string(location.offset));
  }
  return read_file_range(path, location.offset, expected);
}

}  // namespace qsim
