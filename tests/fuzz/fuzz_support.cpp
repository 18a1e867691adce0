#include "tests/fuzz/fuzz_support.h"

#include <cstdio>
#include <cstdlib>

#include <fcntl.h>
#include <unistd.h>

namespace qsim::fuzz {

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::span<const std::byte> bytes_of(Bytes bytes) { return std::as_bytes(bytes); }

void finding(const std::string& what) {
  std::fprintf(stderr, "FINDING: %s\n", what.c_str());
  std::abort();
}

void require(bool holds, const std::string& what) {
  if (!holds) finding(what);
}

std::int64_t ByteSource::pick(std::int64_t low, std::int64_t high) {
  const auto range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  std::uint64_t value = 0;
  for (std::uint64_t rest = range; rest != 0 && !bytes_.empty(); rest >>= 8) {
    value = value << 8 | bytes_.front();
    bytes_ = bytes_.subspan(1);
  }
  if (range != UINT64_MAX) value %= range + 1;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + value);
}

Folder::Folder() {
  std::string name = (std::filesystem::temp_directory_path() / "qsim-fuzz-XXXXXX").string();
  require(::mkdtemp(name.data()) != nullptr, "no temporary folder");
  path_ = name;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::filesystem::path Folder::file(const std::string& name, std::string_view content) const {
  const std::filesystem::path path = path_ / name;
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  require(fd >= 0, "cannot make " + path.string());
  const ssize_t written = ::write(fd, content.data(), content.size());
  ::close(fd);
  require(written == static_cast<ssize_t>(content.size()), "cannot write " + path.string());
  return path;
}

void Folder::clear() const {
  for (const auto& entry : std::filesystem::directory_iterator(path_)) {
    std::filesystem::remove(entry.path());
  }
}

}  // namespace qsim::fuzz
