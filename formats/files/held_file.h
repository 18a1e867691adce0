// A regular file that stays open for as long as its bytes are wanted, so that all of them are of
// one file whatever its name leads to in the meantime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include <sys/stat.h>

#include "formats/files/descriptor.h"

namespace qsim::formats {

class HeldFile {
 public:
  // Throws Error when it is missing, unreadable, a folder, a device or a pipe; waits for none.
  explicit HeldFile(std::filesystem::path path);

  const std::filesystem::path& path() const { return path_; }
  std::int64_t bytes() const { return opened_.st_size; }
  // Bytes [offset, offset + to.size()). Throws Error when the file ends before.
  void read(std::int64_t offset, std::span<std::byte> to) const;
  // Throws Error when it was written to since it was opened. That another file took its name is
  // nothing to it.
  void require_unchanged() const;

 private:
  std::filesystem::path path_;
  Descriptor file_;
  struct stat opened_ {};
};

}  // namespace qsim::formats
