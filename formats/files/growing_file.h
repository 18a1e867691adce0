// A text file of lines that grows while a program works, so that a killed program loses at most the
// line that it was writing. Its first line says what it is. One process has it at a time.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "formats/files/descriptor.h"

namespace qsim::formats {

class GrowingFile {
 public:
  // Opens the file, or makes it with `header` as its first line. A last line without an end, which
  // a killed process left, is removed. Throws Error (exit code 3) naming the file when it cannot be
  // opened, is not a regular file, begins with another line, or is open in another process.
  GrowingFile(const std::filesystem::path& path, const std::string& header);

  // The lines that were there, without the header.
  const std::vector<std::string>& lines() const { return lines_; }
  // `line` has no line end. When it returns, the line survives the end of this process. Throws
  // Error where it cannot be written.
  void append(std::string_view line);

 private:
  void open();
  void read(const std::string& header);
  [[noreturn]] void fail(const std::string& message) const;

  std::filesystem::path path_;
  Descriptor file_;
  std::vector<std::string> lines_;
};

}  // namespace qsim::formats
