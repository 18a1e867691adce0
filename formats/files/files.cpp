#include "formats/files/files.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/error.h"
#include "formats/files/descriptor.h"
#include "formats/files/file_replacement.h"
#include "formats/files/memory.h"

namespace qsim::formats {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLfsPointerStart = "version https://git-lfs.github.com/spec/";

// Opens for reading and refuses what is neither a regular file nor a pipe.
int open_to_read(const fs::path& path, struct stat& status) {
  const int fd = open_again(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw_bad_file(path, "cannot be read: " + error_reason(errno));
  const bool known = ::fstat(fd, &status) == 0;
  const int error = errno;
  if (known && (S_ISREG(status.st_mode) || S_ISFIFO(status.st_mode))) return fd;
  ::close(fd);
  if (!known) throw_bad_file(path, "cannot be read: " + error_reason(error));
  throw_bad_file(path, S_ISDIR(status.st_mode) ? "is a directory; expected a file"
                                               : "is a device; expected a file");
}

[[noreturn]] void fail_longer(const fs::path& path, std::int64_t max_bytes) {
  throw_bad_file(path,
                 "is longer than the " + std::to_string(max_bytes) + " bytes that are allowed");
}

// Reads as many bytes at `offset` as fit `to`, or as the file has.
std::size_t read_at(int file, const fs::path& path, std::int64_t offset, std::span<std::byte> to) {
  std::size_t size = 0;
  while (size < to.size()) {
    const ssize_t got =
        ::pread(file, to.data() + size, to.size() - size, offset + static_cast<std::int64_t>(size));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_bad_file(path, "cannot be read: " + error_reason(errno));
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  return size;
}

// Checks a file that says how long it is, before it is read or memory is taken for it.
void judge_length(int file, const fs::path& path, std::int64_t bytes, std::int64_t max_bytes,
                  const StartJudge& judge) {
  if (bytes > max_bytes) fail_longer(path, max_bytes);
  if (!judge || bytes <= kStartBytes) return;
  std::vector<std::byte> start(kStartBytes);
  start.resize(read_at(file, path, 0, start));
  refuse_lfs_pointer(path, {reinterpret_cast<const char*>(start.data()), start.size()});
  judge(start, bytes);
}

template <typename Buffer>
Buffer read_whole(const fs::path& path, std::int64_t max_bytes, const StartJudge& judge = {}) {
  struct stat status {};
  const Descriptor file(open_to_read(path, status));
  const bool is_regular = S_ISREG(status.st_mode);
  if (is_regular) {
    judge_length(file.get(), path, status.st_size, max_bytes, judge);
    require_memory(status.st_size, path.string());
  }
  constexpr std::size_t kChunk = std::size_t{1} << 16;
  Buffer buffer;
  buffer.resize(is_regular ? static_cast<std::size_t>(status.st_size) + 1 : kChunk);
  std::size_t size = 0;
  while (true) {
    if (size == buffer.size()) buffer.resize(2 * size);
    const ssize_t count = ::read(file.get(), buffer.data() + size, buffer.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_bad_file(path, "cannot be read: " + error_reason(errno));
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
    if (static_cast<std::int64_t>(size) > max_bytes) fail_longer(path, max_bytes);
  }
  buffer.resize(size);
  refuse_lfs_pointer(path, {reinterpret_cast<const char*>(buffer.data()), size});
  return buffer;
}

[[noreturn]] void fail_write(const fs::path& path, int error) {
  throw_bad_file(path, "cannot be written: " + write_error_reason(error));
}

void write_in_place(const fs::path& path, std::string_view content) {
  Descriptor file(open_again(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.is_open() || !write_all(file.get(), content) || !file.close()) fail_write(path, errno);
}

}  // namespace

void refuse_lfs_pointer(const fs::path& path, std::string_view start) {
  if (start.substr(0, kLfsPointerStart.size()) != kLfsPointerStart) return;
  throw_bad_file(
      path,
      "is a git-LFS pointer, not the file itself; fetch it with `git lfs pull`, or download "
      "the file");
}

std::string read_text_file(const fs::path& path, std::int64_t max_bytes) {
  return read_whole<std::string>(path, max_bytes);
}

std::vector<std::byte> read_binary_file(const fs::path& path, std::int64_t max_bytes,
                                        const StartJudge& judge) {
  return read_whole<std::vector<std::byte>>(path, max_bytes, judge);
}

std::int64_t file_bytes(const fs::path& path) {
  struct stat status {};
  const Descriptor file(open_to_read(path, status));
  if (!S_ISREG(status.st_mode)) throw_bad_file(path, "is a pipe; expected a file");
  return status.st_size;
}

std::vector<std::byte> read_file_range(const fs::path& path, std::int64_t offset,
                                       std::int64_t count) {
  require_memory(count, path.string());
  std::vector<std::byte> bytes(static_cast<std::size_t>(count));
  read_file_range(path, offset, bytes);
  return bytes;
}

void read_file_range(const fs::path& path, std::int64_t offset, std::span<std::byte> to) {
  struct stat status {};
  const Descriptor file(open_to_read(path, status));
  const std::size_t size = read_at(file.get(), path, offset, to);
  if (size == to.size()) return;
  throw_bad_file(path, "ends at byte " + std::to_string(offset + static_cast<std::int64_t>(size)) +
                           "; expected bytes up to " +
                           std::to_string(offset + static_cast<std::int64_t>(to.size())));
}

void write_file_atomically(const fs::path& path, std::string_view content) {
  if (is_written_in_place(path)) return write_in_place(path, content);
  FileReplacement file(path);
  file.write(content);
  file.rename();
  file.sync_folder();
}

namespace {

bool sync_folder_of(const fs::path& path) {
  const fs::path folder = path.parent_path().empty() ? fs::path(".") : path.parent_path();
  const Descriptor opened(open_again(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return !opened.is_open() || sync_folder_to_disk(opened.get());
}

}  // namespace

void sync_file(const fs::path& path) {
  const Descriptor file(open_again(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open() || !sync_to_disk(file.get()) || !sync_folder_of(path)) {
    fail_write(path, errno);
  }
}

void remove_file(const fs::path& path) {
  if (::unlink(path.c_str()) != 0) {
    if (errno == ENOENT) return;
    throw_bad_file(path, "cannot be removed: " + error_reason(errno));
  }
  if (!sync_folder_of(path)) throw_bad_file(path, "cannot be removed: " + error_reason(errno));
}

void remove_other_files(const fs::path& folder, bool (*is_member)(const std::string& name),
                        const std::set<std::string>& names) {
  std::vector<fs::path> others;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code unknown;
    const bool is_folder = entry->symlink_status(unknown).type() == fs::file_type::directory;
    if (!is_folder && is_member(name) && !names.contains(name)) others.push_back(entry->path());
  }
  for (const fs::path& other : others) remove_file(other);
}

bool is_there(const std::filesystem::path& path) {
  std::error_code unknown;
  return std::filesystem::exists(path, unknown);
}

bool is_folder(const std::filesystem::path& path) {
  std::error_code unknown;
  return std::filesystem::is_directory(path, unknown);
}

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  std::error_code ignored;
  if (fs::exists(path, ignored) && !fs::is_directory(path, ignored)) {
    throw_bad_file(path, fs::is_regular_file(path, ignored)
                             ? "is a file; expected a folder"
                             : "is a device or a pipe; expected a folder");
  }
  if (error && path.is_relative() && is_deleted_folder(".")) {
    throw_bad_file(path, "cannot be made: the current folder was deleted");
  }
  if (error) throw_bad_file(path, "cannot be made: " + error_reason(error.value()));
  if (::access(path.c_str(), W_OK | X_OK) != 0)
    throw_bad_file(path, "cannot be written: " + error_reason(errno));
}

}  // namespace qsim::formats
