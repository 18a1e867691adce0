#include "cli/terminal/file_place.h"

#include <algorithm>

#include <sys/sysmacros.h>
#include <unistd.h>

#include "formats/files/temporary_files.h"

namespace qsim::cli {
namespace {

namespace fs = std::filesystem;

// The path that a link to something absent leads to, and any other path as it is.
fs::path followed(fs::path path) {
  constexpr int kMostLinks = 40;  // as the kernel follows
  std::error_code error;
  for (int links = 0; links < kMostLinks && fs::is_symlink(path, error); ++links) {
    const fs::path target = fs::read_symlink(path, error);
    if (error) break;
    path = path.parent_path() / target;  // `target` alone, where it is absolute
  }
  return path;
}

constexpr unsigned kMemoryDevices = 1;  // /dev/null, /dev/full, /dev/zero

// All but the path.
FilePlace existing_place(const struct stat& status) {
  FilePlace place;
  place.exists = true;
  place.is_special = !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
  place.is_sink = S_ISCHR(status.st_mode) && major(status.st_rdev) == kMemoryDevices;
  place.inode = {status.st_dev, status.st_ino};
  return place;
}

}  // namespace

FilePlace place_of(const fs::path& given) {
  FilePlace place;
  struct stat status {};
  std::error_code error;
  fs::path path = given;
  if (::stat(given.c_str(), &status) == 0) {
    place = existing_place(status);
    place.path = fs::canonical(given, error);
  } else {
    path = followed(given);
    const bool is_named = path.has_filename();  // not "folder/"
    const fs::path whole = is_named ? path : path.parent_path();
    const fs::path folder = fs::absolute(formats::folder_of(whole), error);
    if (!error) place.path = fs::weakly_canonical(folder, error) / whole.filename();
  }
  if (!error) return place;
  // Nothing is known about a current folder that was deleted: the path is as it was given.
  const fs::path absolute = fs::absolute(path, error);
  place.path = (error ? path : absolute).lexically_normal();
  return place;
}

FilePlace place_of_stdout() {
  struct stat status {};
  if (::fstat(STDOUT_FILENO, &status) == 0) return existing_place(status);
  FilePlace closed;
  closed.is_sink = true;
  return closed;
}

bool same(const FilePlace& a, const FilePlace& b) {
  return (a.path == b.path && !a.path.empty()) || (a.exists && b.exists && a.inode == b.inode);
}

bool is_beneath(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

}  // namespace qsim::cli
