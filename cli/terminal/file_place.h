// Where a path leads: two paths may be one file by links and by other spellings.
#pragma once

#include <filesystem>
#include <utility>

#include <sys/stat.h>

namespace qsim::cli {

struct FilePlace {
  std::filesystem::path path;  // without links, but of a last part that does not exist
  bool exists = false;
  bool is_special = false;  // a device or a pipe
  bool is_sink = false;     // a device that keeps nothing, for any number of writers: /dev/null
  std::pair<dev_t, ino_t> inode;
};

// Follows links, also to what is absent.
FilePlace place_of(const std::filesystem::path& given);
// Where standard output leads; a sink where it is closed.
FilePlace place_of_stdout();

// By device and inode where both exist, by folder and name where they do not.
bool same(const FilePlace& a, const FilePlace& b);

// Whether `path` is `folder` or something in it; both as FilePlace::path has them.
bool is_beneath(const std::filesystem::path& path, const std::filesystem::path& folder);

}  // namespace qsim::cli
