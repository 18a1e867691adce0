#include "formats/files/file_beneath.h"

#include <algorithm>
#include <cerrno>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/printable.h"

namespace qsim::formats {
namespace {

namespace fs = std::filesystem;

bool is_plain_relative(const std::string& name) {
  const fs::path path(name);
  return !name.empty() && name.find('\0') == std::string::npos && !path.is_absolute() &&
         std::find(path.begin(), path.end(), fs::path("..")) == path.end();
}

// Where the kernel has an open file, links resolved; empty where it does not say.
fs::path real_path(int fd) {
  std::error_code error;
  return fs::read_symlink("/proc/self/fd/" + std::to_string(fd), error);
}

bool is_beneath(const fs::path& file, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first ==
         folder.end();
}

}  // namespace

FileBeneath::FileBeneath(const fs::path& folder, const std::string& name, const std::string& where)
    : path_(folder / name), where_(where) {
  const auto refuse = [&](const std::string& what) { throw_bad_input(where + ": " + what); };
  if (!is_plain_relative(name)) {
    refuse("external data location '" + echoed(name) +
           "'; expected a path inside the model's folder, without '..'");
  }
  const Descriptor home(
      open_again(folder.empty() ? "." : folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  // O_PATH does nothing to a device or a pipe; it only holds on to what the name leads to.
  const Descriptor found(home.is_open() ? ::openat(home.get(), name.c_str(), O_PATH | O_CLOEXEC)
                                        : -1);
  if (!found.is_open()) {
    refuse("external data file '" + echoed(path_.string()) +
           "' cannot be found: " + error_reason(errno));
  }
  const fs::path folder_path = real_path(home.get());
  const fs::path file_path = real_path(found.get());
  if (folder_path.empty() || file_path.empty()) {
    refuse("external data file '" + echoed(path_.string()) +
           "' cannot be checked to be in the model's folder: /proc is not mounted here");
  }
  if (!is_beneath(file_path, folder_path)) {
    refuse("external data location '" + echoed(name) +
           "' leads out of the model's folder; expected a file inside it");
  }
  struct stat status {};
  if (::fstat(found.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    refuse("external data location '" + echoed(name) + "' is not a regular file");
  }
  file_.reset(
      open_again(("/proc/self/fd/" + std::to_string(found.get())).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file_.is_open()) {
    refuse("external data file '" + echoed(path_.string()) +
           "' cannot be read: " + error_reason(errno));
  }
  bytes_ = status.st_size;
  identity_ = {status.st_dev, status.st_ino};
}

void FileBeneath::read(std::int64_t offset, std::span<std::byte> to) const {
  while (!to.empty()) {
    const ssize_t got = ::pread(file_.get(), to.data(), to.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      throw_bad_input(where_ + ": external data file '" + echoed(path_.string()) + "' " +
                      (got == 0 ? "ends at byte " + std::to_string(offset)
                                : "cannot be read: " + error_reason(errno)));
    }
    to = to.subspan(static_cast<std::size_t>(got));
    offset += got;
  }
}

}  // namespace qsim::formats
