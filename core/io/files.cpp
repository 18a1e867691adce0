#include "core/io/files.h"

#include <atomic>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"

namespace qsim {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLfsPointerStart = "version https://git-lfs.github.com/spec/";

[[noreturn]] void fail(const fs::path& path, const std::string& what) {
  throw_bad_input(path.string() + ": " + what);
}

std::string reason(int error) {
  switch (error) {
    case ENOENT:
      return "no such file";
    case ENOTDIR:
      return "a part of the path is a file, not a folder";
    case EACCES:
    case EPERM:
      return "no permission";
    case ENOSPC:
    case EDQUOT:
      return "the disk is full";
    default:
      return std::strerror(error);
  }
}

// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  // Closes now; false with errno when the kernel reports a late write error.
  bool close() {
    const int fd = fd_;
    fd_ = -1;
    return ::close(fd) == 0;
  }

 private:
  int fd_;
};

// Opens for reading and refuses what is neither a regular file nor a pipe.
int open_to_read(const fs::path& path, struct stat& status) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail(path, "cannot be read: " + reason(errno));
  const bool known = ::fstat(fd, &status) == 0;
  const int error = errno;
  if (known && (S_ISREG(status.st_mode) || S_ISFIFO(status.st_mode))) return fd;
  ::close(fd);
  if (!known) fail(path, "cannot be read: " + reason(error));
  fail(path, S_ISDIR(status.st_mode) ? "is a directory; expected a file"
                                     : "is a device; expected a file");
}

void refuse_lfs_pointer(const fs::path& path, std::string_view start) {
  if (start.substr(0, kLfsPointerStart.size()) != kLfsPointerStart) return;
  fail(path,
       "is a git-LFS pointer, not the file itself; fetch it with `git lfs pull`, or download "
       "the file");
}

template <typename Buffer>
Buffer read_whole(const fs::path& path, std::int64_t max_bytes) {
  struct stat status {};
  const Descriptor file(open_to_read(path, status));
  constexpr std::size_t kChunk = std::size_t{1} << 16;
  Buffer buffer;
  buffer.resize(S_ISREG(status.st_mode) && status.st_size <= max_bytes
                    ? static_cast<std::size_t>(status.st_size) + 1
                    : kChunk);
  std::size_t size = 0;
  while (true) {
    if (size == buffer.size()) buffer.resize(2 * size);
    const ssize_t count = ::read(file.get(), buffer.data() + size, buffer.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(path, "cannot be read: " + reason(errno));
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
    if (static_cast<std::int64_t>(size) > max_bytes) {
      fail(path, "is longer than the " + std::to_string(max_bytes) + " bytes that are allowed");
    }
  }
  buffer.resize(size);
  refuse_lfs_pointer(path, {reinterpret_cast<const char*>(buffer.data()), size});
  return buffer;
}

// Writes all of `content`; false with errno.
bool write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t count = ::write(fd, content.data(), content.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    content.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

[[noreturn]] void fail_write(const fs::path& path, int error) {
  fail(path, "cannot be written: " + (error == ENOENT ? "no such folder" : reason(error)));
}

void write_in_place(const fs::path& path, std::string_view content) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.get() < 0 || !write_all(file.get(), content) || !file.close()) fail_write(path, errno);
}

// A file that removes itself unless it has been renamed.
class TemporaryFile {
 public:
  explicit TemporaryFile(const fs::path& target)
      : path_(name_beside(target)),
        file_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) {
    if (file_.get() < 0) fail_write(target, errno);
  }
  ~TemporaryFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void commit(const fs::path& target, std::string_view content) {
    const bool stored = write_all(file_.get(), content) && ::fsync(file_.get()) == 0 &&
                        file_.close() && ::rename(path_.c_str(), target.c_str()) == 0;
    if (!stored) fail_write(target, errno);
    path_.clear();
  }

 private:
  static fs::path name_beside(const fs::path& target) {
    static std::atomic<unsigned> count{0};
    std::string name = target.filename().string();
    name.insert(0, 1, '.');
    name += ".tmp-" + std::to_string(::getpid()) + "-" + std::to_string(count++);
    return target.parent_path() / name;
  }

  fs::path path_;
  Descriptor file_;
};

// The file that writing to `path` replaces: through a symbolic link the one that it names, not the
// link. Empty for a device or a pipe, which is written in place.
fs::path target_of(const fs::path& path) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  if (fs::is_directory(status)) fail(path, "cannot be written: is a directory");
  if (fs::exists(status) && !fs::is_regular_file(status)) return {};
  return fs::is_symlink(path, ignored) && fs::exists(status) ? fs::canonical(path) : path;
}

}  // namespace

std::string read_text_file(const fs::path& path, std::int64_t max_bytes) {
  return read_whole<std::string>(path, max_bytes);
}

std::vector<std::byte> read_binary_file(const fs::path& path, std::int64_t max_bytes) {
  return read_whole<std::vector<std::byte>>(path, max_bytes);
}

std::int64_t file_bytes(const fs::path& path) {
  struct stat status {};
  const Descriptor file(open_to_read(path, status));
  if (!S_ISREG(status.st_mode)) fail(path, "is a pipe; expected a file");
  return status.st_size;
}

std::vector<std::byte> read_file_range(const fs::path& path, std::int64_t offset,
                                       std::int64_t count) {
  struct stat status {};
  const Descriptor file(open_to_read(path, status));
  std::vector<std::byte> bytes(static_cast<std::size_t>(count));
  std::size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t got = ::pread(file.get(), bytes.data() + size, bytes.size() - size,
                                offset + static_cast<std::int64_t>(size));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(path, "cannot be read: " + reason(errno));
    if (got == 0) {
      fail(path, "ends at byte " + std::to_string(offset + static_cast<std::int64_t>(size)) +
                     "; expected bytes up to " + std::to_string(offset + count));
    }
    size += static_cast<std::size_t>(got);
  }
  return bytes;
}

void write_file_atomically(const fs::path& path, std::string_view content) {
  const fs::path target = target_of(path);
  if (target.empty()) return write_in_place(path, content);
  TemporaryFile(target).commit(target, content);
}

void require_writable(const fs::path& path) {
  const fs::path target = target_of(path);
  if (!target.empty()) TemporaryFile{target};
}

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  std::error_code ignored;
  if (fs::exists(path, ignored) && !fs::is_directory(path, ignored)) {
    fail(path, "is a file; expected a folder");
  }
  if (error) fail(path, "cannot be made: " + reason(error.value()));
  if (::access(path.c_str(), W_OK | X_OK) != 0) fail(path, "cannot be written: " + reason(errno));
}

}  // namespace qsim
