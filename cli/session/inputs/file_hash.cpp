#include "cli/session/inputs/file_hash.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "formats/files/descriptor.h"
#include "formats/onnx/importer/external_files.h"

namespace qsim::cli {

using formats::HeldFile;
namespace {

namespace fs = std::filesystem;

class Fnv1a {
 public:
  void add(std::string_view bytes) {
    for (const char c : bytes) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  }
  std::string text() const {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "fnv1a64:%016llx", static_cast<unsigned long long>(hash_));
    return buffer;
  }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325ull;
};

// A model of any size costs no memory.
constexpr std::int64_t kPieceBytes = std::int64_t{1} << 18;

void add_file(Fnv1a& hash, const HeldFile& file) {
  std::vector<char> piece(kPieceBytes);
  for (std::int64_t offset = 0; offset < file.bytes(); offset += kPieceBytes) {
    const auto count = static_cast<std::size_t>(std::min(kPieceBytes, file.bytes() - offset));
    const auto part = std::span(piece).first(count);
    file.read(offset, std::as_writable_bytes(part));
    hash.add({part.data(), part.size()});
  }
  file.require_unchanged();
}

}  // namespace

std::string file_hash(const fs::path& path) {
  std::error_code error;
  if (fs::is_fifo(path, error)) return "";
  Fnv1a hash;
  if (!fs::is_directory(path, error)) {
    add_file(hash, HeldFile(path));
    return hash.text();
  }
  std::vector<fs::path> files;
  fs::directory_iterator entry(path, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    std::error_code unknown;
    if (entry->is_regular_file(unknown)) files.push_back(entry->path());
  }
  if (error)
    throw_bad_input(path.string() + ": cannot be read: " + formats::error_reason(error.value()));
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    hash.add(file.filename().string() + '\0');
    add_file(hash, HeldFile(file));
  }
  return hash.text();
}

std::string text_hash(std::string_view text) {
  Fnv1a hash;
  hash.add(text);
  return hash.text();
}

std::string file_hash(const HeldFile& file) {
  Fnv1a hash;
  add_file(hash, file);
  return hash.text();
}

std::string model_hash(const std::shared_ptr<const HeldFile>& onnx, const fs::path& sidecar) {
  std::set<fs::path> others;
  for (const fs::path& file : formats::external_files(onnx)) {
    std::error_code unknown;
    if (fs::exists(file, unknown))
      others.insert(file);  // a tensor that nobody reads may lack its own
  }
  if (!sidecar.empty()) others.insert(sidecar);
  std::string hash = file_hash(*onnx);
  if (others.empty()) return hash;
  for (const fs::path& file : others)
    hash += '\n' + file.filename().string() + '\0' + file_hash(file);
  return text_hash(hash);
}

}  // namespace qsim::cli
