// A folder that one process at a time writes into. The lock is the kernel's, on the open folder: it
// leaves no file, and ends with the process, however that ends.
#pragma once

#include <filesystem>
#include <vector>

#include "formats/files/descriptor.h"

namespace qsim::formats {

class LockedFolder {
 public:
  // Makes the folder and its missing parents, as make_folder (formats/files/files.h) does, and
  // locks it. Adds what it made to `made`, parents first, also when it throws. Throws Error naming
  // the folder, also where another process has it locked.
  LockedFolder(const std::filesystem::path& path, std::vector<std::filesystem::path>& made);

  // False where no lock can be had: a file system without locks, or a folder that may be written
  // and not read.
  bool is_locked() const { return is_locked_; }
  // Whether `path` leads to this folder.
  bool is_at(const std::filesystem::path& path) const;

 private:
  // False where another process removed the folder in the meantime.
  bool open_and_lock(const std::filesystem::path& path, std::vector<std::filesystem::path>& made);

  Descriptor folder_;
  bool is_locked_ = false;
};

}  // namespace qsim::formats
