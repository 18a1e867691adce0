// An open file as the kernel knows it, and what it says when something fails. For files alone.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace qsim::formats {

// A file descriptor that closes itself; negative: none.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor();
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  // Closes now; false with errno when the kernel reports a late write error.
  bool close();
  // Closes what it has and takes another.
  void reset(int fd);

 private:
  int fd_;
};

// Throws Error (exit code 3): "PATH: WHAT".
[[noreturn]] void throw_bad_file(const std::filesystem::path& path, const std::string& what);

// open(2), again when a signal came in between.
int open_again(const char* path, int flags, unsigned mode = 0);
// fsync(2), likewise.
bool sync_to_disk(int fd);
// The same for a folder, as far as its file system can.
bool sync_folder_to_disk(int fd);
// Writes all of `content`; false with errno.
bool write_all(int fd, std::string_view content);

// Whether `folder` is one that was deleted: the current folder, or one that is open.
bool is_deleted_folder(const char* folder);

// "no permission", "the disk is full", ...
std::string error_reason(int error);
// The same for a file that was to be written, whose folder may be missing.
std::string write_error_reason(int error);

}  // namespace qsim::formats
