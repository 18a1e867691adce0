#include "formats/files/locked_folder.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "core/base/error.h"
#include "formats/files/files.h"

namespace qsim::formats {
namespace {

namespace fs = std::filesystem;

// Only those that this process made: two that begin together see the same folders missing.
void make_missing(const fs::path& path, std::vector<fs::path>& made) {
  std::error_code error;
  std::vector<fs::path> missing;
  for (fs::path folder = path; !folder.empty() && !fs::exists(folder, error);
       folder = folder.parent_path()) {
    missing.push_back(folder);
  }
  for (auto folder = missing.rbegin(); folder != missing.rend(); ++folder) {
    if (fs::create_directory(*folder, error)) made.push_back(*folder);
  }
}

// The kernel says that a folder that was removed has no name left.
bool same_folder(int fd, const fs::path& path) {
  struct stat opened {};
  struct stat named {};
  return ::fstat(fd, &opened) == 0 && ::stat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

int lock_again(int fd) {
  int result = 0;
  do {
    result = ::flock(fd, LOCK_EX | LOCK_NB);
  } while (result != 0 && errno == EINTR);
  return result;
}

}  // namespace

LockedFolder::LockedFolder(const fs::path& path, std::vector<fs::path>& made) {
  constexpr int kAttempts = 100;  // each lost to a process that removed its own empty folder
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    make_missing(path, made);
    if (open_and_lock(path, made)) return;
  }
  throw_bad_input(path.string() + ": cannot be made: " + error_reason(ENOENT));
}

bool LockedFolder::open_and_lock(const fs::path& path, std::vector<fs::path>& made) {
  std::error_code unknown;
  if (!fs::is_directory(path, unknown)) make_folder(path);  // says why not
  folder_.reset(open_again(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder_.is_open()) {
    if (errno == ENOENT) return false;
    if (errno != EACCES) {
      throw_bad_input(path.string() + ": cannot be written: " + error_reason(errno));
    }
  } else if (lock_again(folder_.get()) == 0) {
    if (!same_folder(folder_.get(), path)) return false;
    is_locked_ = true;
  } else if (errno == EWOULDBLOCK) {
    // It is the other's now, though it may still be empty. `made` has "folder" for "folder/".
    std::erase(made, path.has_filename() ? path : path.parent_path());
    throw_bad_input(
        path.string() +
        ": another qsim process is writing into this folder; wait for it, or name another folder");
  }
  make_folder(path);  // says what is wrong with it, if it cannot be written
  return true;
}

bool LockedFolder::is_at(const fs::path& path) const {
  return folder_.is_open() && same_folder(folder_.get(), path);
}

}  // namespace qsim::formats
