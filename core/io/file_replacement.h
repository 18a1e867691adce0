// A file on its way to take another's place: written and synced under a temporary name in the same
// folder, then renamed. Until the rename the old file stands; after it the new one, whole.
#pragma once

#include <filesystem>
#include <string_view>

#include "core/io/descriptor.h"

namespace qsim {

// What a temporary's name holds, between the file's own name and numbers that make it unique:
// ".run.json.tmp-4711-0". Nothing that qsim reads is ever called so. One that a killed process left
// goes when the same file is written again.
inline constexpr std::string_view kTemporaryMark = ".tmp-";

class FileReplacement {
 public:
  // Makes the temporary file beside what `path` names (through a symbolic link beside its target).
  // Throws Error naming `path` and the reason; a device or a pipe cannot be replaced.
  explicit FileReplacement(const std::filesystem::path& path);
  // Removes the temporary file unless it was committed.
  ~FileReplacement();
  FileReplacement(const FileReplacement&) = delete;
  FileReplacement& operator=(const FileReplacement&) = delete;

  const std::filesystem::path& target() const { return target_; }
  // Where the content goes, for those that write a file by its name. Empty after rename().
  const std::filesystem::path& temporary() const { return temporary_; }

  // Either: writes the content and has it on the disk.
  void write(std::string_view content);
  // Or, when another writer has made and closed the file of that name: has it on the disk.
  void sync_written();

  // Gives the file its name; from here on it counts.
  void rename();
  // Has the name on the disk as well. An error leaves the new file in its place.
  void sync_folder();

 private:
  [[noreturn]] void fail(int error) const;

  std::filesystem::path target_;
  std::filesystem::path temporary_;
  Descriptor folder_;
  Descriptor file_;
};

// True for a path that is written in place: a device or a pipe. Throws Error for a folder.
bool is_written_in_place(const std::filesystem::path& path);

}  // namespace qsim
