#include "core/io/file_replacement.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <string>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"

namespace qsim {
namespace {

namespace fs = std::filesystem;

// What every temporary of `target` is called up to its numbers. Shortened, since a name has 255
// bytes at most; NAME_MAX leaves room for the mark and the numbers.
std::string temporary_stem(const fs::path& target) {
  constexpr std::size_t kMaxNameBytes = 200;
  return "." + target.filename().string().substr(0, kMaxNameBytes) + std::string(kTemporaryMark);
}

fs::path folder_of(const fs::path& file) {
  return file.parent_path().empty() ? fs::path(".") : file.parent_path();
}

// A writer holds a lock on its temporary; one that can be locked was left by a process that was
// killed. A file system without locks gives ENOLCK or the like, and then nothing is removed.
void remove_leftovers(const fs::path& target) {
  const std::string stem = temporary_stem(target);
  std::error_code error;
  for (fs::directory_iterator entry(folder_of(target), error), end; !error && entry != end;
       entry.increment(error)) {
    if (!entry->path().filename().string().starts_with(stem)) continue;
    const Descriptor file(
        open_again(entry->path().c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (file.is_open() && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0) {
      ::unlink(entry->path().c_str());
    }
  }
}

// Someone who removes leftovers may come between open() and flock(); the name is then gone.
bool lock(int fd) {
  struct stat status {};
  const int locked = ::flock(fd, LOCK_EX | LOCK_NB);
  if (locked != 0 && errno == EWOULDBLOCK) return false;
  return ::fstat(fd, &status) != 0 || status.st_nlink > 0;
}

// A new file beside `target`; negative with errno. A process of another container may have had the
// same number as this one, so a name that is taken is no error.
int open_temporary(const fs::path& target, fs::path& name) {
  static std::atomic<unsigned> count{0};
  while (true) {
    name = target.parent_path() /
           (temporary_stem(target) + std::to_string(::getpid()) + "-" + std::to_string(count++));
    const int fd = open_again(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno == EEXIST) continue;
    if (fd < 0 || lock(fd)) return fd;
    ::close(fd);
  }
}

// Through a symbolic link the file that it names, so that the link stays.
fs::path replaced_by(const fs::path& path) {
  if (is_written_in_place(path)) {
    throw_bad_input(path.string() + ": cannot be written: is a device or a pipe; expected a file");
  }
  std::error_code ignored;
  return fs::is_symlink(path, ignored) && fs::exists(path, ignored) ? fs::canonical(path) : path;
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

FileReplacement::FileReplacement(const fs::path& path)
    : target_(replaced_by(path)),
      folder_(open_again(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  // A folder that may be written and not read cannot be synced by us; the file itself can.
  if (!folder_.is_open() && errno != EACCES) fail(errno);
  remove_leftovers(target_);
  fs::path name;
  file_.reset(open_temporary(target_, name));
  if (!file_.is_open()) fail(errno);
  temporary_ = std::move(name);
}

FileReplacement::~FileReplacement() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void FileReplacement::write(std::string_view content) {
  if (!write_all(file_.get(), content) || !sync_to_disk(file_.get()) || !file_.close()) fail(errno);
}

void FileReplacement::sync_written() {
  file_.reset(open_again(temporary_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file_.is_open() || !sync_to_disk(file_.get()) || !file_.close()) fail(errno);
}

void FileReplacement::rename() {
  int result = 0;
  do {
    result = std::rename(temporary_.c_str(), target_.c_str());
  } while (result != 0 && errno == EINTR);
  if (result != 0) fail(errno);
  temporary_.clear();
}

void FileReplacement::sync_folder() {
  if (folder_.is_open() && !sync_folder_to_disk(folder_.get())) fail(errno);
}

void FileReplacement::fail(int error) const {
  throw_bad_input(target_.string() + ": cannot be written: " + write_error_reason(error));
}

}  // namespace qsim
