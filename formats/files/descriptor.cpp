#include "formats/files/descriptor.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/error.h"

namespace qsim::formats {

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

bool Descriptor::close() {
  const int fd = fd_;
  fd_ = -1;
  // After EINTR Linux has closed it all the same, and what it holds was synced before.
  return ::close(fd) == 0 || errno == EINTR;
}

void Descriptor::reset(int fd) {
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

void throw_bad_file(const std::filesystem::path& path, const std::string& what) {
  throw_bad_input(path.string() + ": " + what);
}

int open_again(const char* path, int flags, unsigned mode) {
  int fd = -1;
  do {
    fd = ::open(path, flags, mode);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

bool sync_to_disk(int fd) {
  int result = 0;
  do {
    result = ::fsync(fd);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

// Some file systems cannot sync a folder (EINVAL); what they do instead is their business.
bool sync_folder_to_disk(int fd) { return sync_to_disk(fd) || errno == EINVAL || errno == ENOTSUP; }

bool write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t count = ::write(fd, content.data(), content.size());
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) errno = EIO;  // a device that takes nothing and says nothing
    if (count <= 0) return false;
    content.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

// It can still be reached as ".", and has no name left.
bool is_deleted_folder(const char* folder) {
  struct stat status {};
  return ::stat(folder, &status) == 0 && S_ISDIR(status.st_mode) && status.st_nlink == 0;
}

std::string error_reason(int error) {
  switch (error) {
    case ENOENT:
      return "no such file";
    case ENOTDIR:
      return "a part of the path is a file, not a folder";
    case EACCES:
    case EPERM:
      return "no permission";
    case ENOSPC:
      return "the disk is full";
    case EDQUOT:
      return "the disk quota is used up";
    case EROFS:
      return "the file system is read-only";
    default:
      return std::strerror(error);
  }
}

std::string write_error_reason(int error) {
  return error == ENOENT ? "no such folder" : error_reason(error);
}

}  // namespace qsim::formats
