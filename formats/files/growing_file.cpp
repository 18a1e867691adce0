#include "formats/files/growing_file.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/error.h"
#include "formats/files/files.h"

namespace qsim::formats {

GrowingFile::GrowingFile(const std::filesystem::path& path, const std::string& header)
    : path_(path) {
  open();
  read(header);
}

void GrowingFile::fail(const std::string& message) const {
  throw_bad_input(path_.string() + ": " + message);
}

// A pipe would wait for a reader without O_NONBLOCK, which says nothing to a regular file.
void GrowingFile::open() {
  constexpr unsigned kMode = 0666;
  file_.reset(
      open_again(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC, kMode));
  struct stat opened {};
  if (!file_.is_open() || ::fstat(file_.get(), &opened) != 0) {
    fail("cannot be written: " + write_error_reason(errno));
  }
  if (!S_ISREG(opened.st_mode)) fail("is a device or a pipe; expected a file");
  if (::flock(file_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    fail("another qsim process is writing into this file; wait for it, or name another file");
  }
}

void GrowingFile::read(const std::string& header) {
  const std::string text = read_text_file(path_);
  if (text.empty()) return append(header);
  const std::size_t end = text.rfind('\n') + 1;  // 0 for a file without a line end
  std::size_t at = text.find('\n');
  if (end == 0 || text.substr(0, at) != header) {
    fail("is not a file that this option keeps: its first line is another one; name another file");
  }
  while (++at < end) {
    const std::size_t line_end = text.find('\n', at);
    lines_.push_back(text.substr(at, line_end - at));
    at = line_end;
  }
  if (end < text.size() && ::ftruncate(file_.get(), static_cast<off_t>(end)) != 0) {
    fail("cannot be written: " + error_reason(errno));
  }
}

void GrowingFile::append(std::string_view line) {
  if (write_all(file_.get(), std::string(line) + "\n")) return;
  fail("cannot be written: " + error_reason(errno));
}

}  // namespace qsim::formats
