#include "formats/files/held_file.h"

#include <cerrno>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include "core/base/error.h"

namespace qsim::formats {
namespace {

bool same_time(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

}  // namespace

// A pipe would wait for a writer without O_NONBLOCK, which says nothing to a regular file.
HeldFile::HeldFile(std::filesystem::path path)
    : path_(std::move(path)), file_(open_again(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
  if (!file_.is_open() || ::fstat(file_.get(), &opened_) != 0) {
    throw_bad_file(path_, "cannot be read: " + error_reason(errno));
  }
  if (S_ISREG(opened_.st_mode)) return;
  if (S_ISDIR(opened_.st_mode)) throw_bad_file(path_, "is a directory; expected a file");
  if (S_ISFIFO(opened_.st_mode)) throw_bad_file(path_, "is a pipe; expected a file");
  throw_bad_file(path_, "is a device; expected a file");
}

void HeldFile::read(std::int64_t offset, std::span<std::byte> to) const {
  const std::int64_t end = offset + std::ssize(to);
  while (!to.empty()) {
    const ssize_t got = ::pread(file_.get(), to.data(), to.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_bad_file(path_, "cannot be read: " + error_reason(errno));
    if (got == 0) {
      throw_bad_file(path_, "ends at byte " + std::to_string(offset) + "; expected bytes up to " +
                                std::to_string(end));
    }
    to = to.subspan(static_cast<std::size_t>(got));
    offset += got;
  }
}

// The time of change finds a writer that sets the old time of writing again (cp -p). It says
// nothing about a file whose name was taken by another, or that got a second name.
void HeldFile::require_unchanged() const {
  struct stat now {};
  if (::fstat(file_.get(), &now) != 0)
    throw_bad_file(path_, "cannot be read: " + error_reason(errno));
  const bool written =
      now.st_size != opened_.st_size || !same_time(now.st_mtim, opened_.st_mtim) ||
      (now.st_nlink == opened_.st_nlink && !same_time(now.st_ctim, opened_.st_ctim));
  if (written) {
    throw_bad_file(path_,
                   "was changed while it was read; run qsim again when nothing writes to it");
  }
}

}  // namespace qsim::formats
