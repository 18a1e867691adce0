#include "formats/files/file_replacement.h"

#include <cerrno>
#include <cstdio>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/error.h"
#include "formats/files/temporary_files.h"

namespace qsim::formats {
namespace {

namespace fs = std::filesystem;

// Through a symbolic link the file that it names, so that the link stays.
fs::path replaced_by(const fs::path& path) {
  if (is_written_in_place(path)) {
    throw_bad_input(path.string() + ": cannot be written: is a device or a pipe; expected a file");
  }
  std::error_code error;
  if (!fs::is_symlink(path, error) || !fs::exists(path, error)) return path;
  const fs::path target = fs::canonical(path, error);
  return error ? path : target;
}

// Permissions of a regular file that is there.
std::optional<unsigned> mode_of(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return status.st_mode & 0777U;
}

}  // namespace

bool is_written_in_place(const fs::path& path) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  if (fs::is_directory(status)) {
    throw_bad_input(path.string() + ": cannot be written: is a directory");
  }
  return fs::exists(status) && !fs::is_regular_file(status);
}

FileReplacement::FileReplacement(const fs::path& path, Writer writer)
    : target_(replaced_by(path)),
      mode_(mode_of(target_)),
      folder_(open_again(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  // A folder that may be written and not read cannot be synced by us; the file itself can.
  if (!folder_.is_open() && errno != EACCES) fail(errno);
  remove_leftovers(target_);
  // A process of another container may have had the same number as this one.
  do {
    temporary_ = next_temporary_name(target_);
    file_.reset(open_temporary(writer));
  } while (!file_.is_open() && errno == EEXIST);
  if (!file_.is_open()) fail(errno);
  keep_mode();
}

FileReplacement::~FileReplacement() {
  if (!temporary_.empty() && ::unlink(temporary_.c_str()) != 0) remember_leftover(temporary_);
  unlock();
}

int FileReplacement::open_temporary(Writer writer) {
  constexpr unsigned kNewMode = 0666;
  // Never readable for more than the old file was, not even for a moment.
  const unsigned mode = mode_.value_or(kNewMode);
  if (writer == Writer::kOwn) return create_locked(temporary_, mode);
  const fs::path lock = with_suffix(temporary_, kLockSuffix);
  lock_.reset(create_locked(lock, kNewMode));
  if (!lock_.is_open()) return -1;
  const int fd = create_locked(temporary_, mode);
  const int error = errno;
  if (fd < 0) ::unlink(lock.c_str());
  errno = error;
  return fd;
}

// Gives back what umask took. A file system that has no permissions refuses, which does no harm.
void FileReplacement::keep_mode() {
  if (mode_) static_cast<void>(::fchmod(file_.get(), *mode_));
}

void FileReplacement::unlock() {
  if (lock_.is_open()) ::unlink(with_suffix(temporary_, kLockSuffix).c_str());
  lock_.reset(-1);
}

void FileReplacement::write(std::string_view content) {
  append(content);
  sync();
}

void FileReplacement::append(std::string_view part) {
  if (!write_all(file_.get(), part)) fail(errno);
}

void FileReplacement::sync() {
  if (!sync_to_disk(file_.get())) fail(errno);
}

void FileReplacement::sync_written() {
  file_.reset(open_again(temporary_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file_.is_open()) fail(errno);
  keep_mode();
  if (!sync_to_disk(file_.get())) fail(errno);
}

void FileReplacement::rename() {
  int result = 0;
  do {
    result = std::rename(temporary_.c_str(), target_.c_str());
  } while (result != 0 && errno == EINTR);
  if (result != 0) fail(errno);
  unlock();
  temporary_.clear();
  file_.reset(-1);  // its content was synced: closing has nothing left that could fail
}

void FileReplacement::sync_folder() {
  if (folder_.is_open() && !sync_folder_to_disk(folder_.get())) fail(errno);
}

void FileReplacement::fail(int error) const {
  if (error == ENOENT && is_deleted_folder(folder_of(target_).c_str())) {
    throw_bad_input(target_.string() + ": cannot be written: its folder was deleted");
  }
  std::error_code unknown;
  const bool removed = error == ENOENT && fs::is_directory(folder_of(target_), unknown);
  throw_bad_input(target_.string() + ": cannot be written: " +
                  (removed ? "its temporary file was removed" : write_error_reason(error)));
}

}  // namespace qsim::formats
