// A new file that will replace another: it is written and synced under a temporary name in the same
// folder, then renamed. Before the rename the old file is there; after it the complete new one.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "formats/files/descriptor.h"

namespace qsim::formats {

class FileReplacement {
 public:
  // Who writes the temporary: this object, or something that takes its name and may put another
  // file there (formats/files/temporary_files.h).
  enum class Writer { kOwn, kAnother };

  // Makes the temporary file beside what `path` names (through a symbolic link beside its target).
  // Until it has its final name nobody else takes it for one that a killed process left. A file
  // that is replaced hands its permissions on. Throws Error naming `path` and the reason; a device
  // or a pipe cannot be replaced.
  explicit FileReplacement(const std::filesystem::path& path, Writer writer = Writer::kOwn);
  // Removes the temporary file unless it was committed.
  ~FileReplacement();
  FileReplacement(const FileReplacement&) = delete;
  FileReplacement& operator=(const FileReplacement&) = delete;

  const std::filesystem::path& target() const { return target_; }
  // The path to write to, for callers that write a file by its name. Empty after rename().
  const std::filesystem::path& temporary() const { return temporary_; }

  // Writer::kOwn: writes the content and has it on the disk; or in parts, with sync() after the
  // last one.
  void write(std::string_view content);
  void append(std::string_view part);
  void sync();
  // Writer::kAnother, once it has made and closed the file of that name: has it on the disk.
  void sync_written();

  // Gives the file its name; from here on it counts.
  void rename();
  // Has the name on the disk as well. An error leaves the new file in its place.
  void sync_folder();

 private:
  // Negative with errno: EEXIST for a name that is taken, now or just now.
  int open_temporary(Writer writer);
  void keep_mode();
  void unlock();
  [[noreturn]] void fail(int error) const;

  std::filesystem::path target_;
  std::filesystem::path temporary_;
  std::optional<unsigned> mode_;  // of the file that is replaced
  Descriptor folder_;
  Descriptor file_;  // open, and with kOwn locked, until it has its final name
  Descriptor lock_;  // of the lock file with kAnother
};

// True for a path that is written in place: a device or a pipe. Throws Error for a folder.
bool is_written_in_place(const std::filesystem::path& path);

}  // namespace qsim::formats
