#include "formats/files/temporary_files.h"

#include <atomic>
#include <cerrno>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/files/descriptor.h"

namespace qsim::formats {
namespace {

namespace fs = std::filesystem;

// What every temporary of a file is called up to its numbers. Shortened, since a name has 255 bytes
// at most; the rest is for the mark, the numbers and a suffix.
std::string stem_of(const std::string& name) {
  constexpr std::size_t kMaxNameBytes = 200;
  return "." + name.substr(0, kMaxNameBytes) + std::string(kTemporaryMark);
}

fs::path stem_path(const fs::path& target) {
  return folder_of(target) / stem_of(target.filename().string());
}

std::size_t skip_digits(std::string_view text, std::size_t at) {
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
  return at;
}

// Where the numbers of a temporary's name begin, and where they end.
struct Numbers {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// The numbers in a name that is made exactly as ours are; {0, 0} for any other name.
Numbers numbers_of(std::string_view name) {
  const std::size_t mark = name.rfind(kTemporaryMark);
  if (mark == std::string_view::npos || mark < 2 || name[0] != '.') return {};
  const std::size_t begin = mark + kTemporaryMark.size();
  const std::size_t dash = skip_digits(name, begin);
  if (dash == begin || dash == name.size() || name[dash] != '-') return {};
  const std::size_t end = skip_digits(name, dash + 1);
  if (end == dash + 1) return {};
  const std::string_view suffix = name.substr(end);
  const bool ours = suffix.empty() || suffix == kHierarchySuffix || suffix == kLockSuffix;
  return ours ? Numbers{begin, end} : Numbers{};
}

// Temporaries that were there when their folder was first looked at. No verdict: whether one is
// left over or in use says its lock, when it is to go.
class Found {
 public:
  std::set<fs::path> take(const fs::path& target) {
    const std::lock_guard lock(mutex_);
    list_once(folder_of(target));
    auto found = by_stem_.extract(stem_path(target));
    return found.empty() ? std::set<fs::path>() : std::move(found.mapped());
  }
  void add(const fs::path& file) {
    const std::lock_guard lock(mutex_);
    add_named(file);
  }

 private:
  void list_once(const fs::path& folder) {
    if (!listed_.insert(folder).second) return;
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
      std::error_code unknown;
      if (fs::is_regular_file(entry->symlink_status(unknown))) {
        add_named(folder / entry->path().filename());
      }
    }
  }
  void add_named(const fs::path& file) {
    const std::string name = file.filename().string();
    const Numbers numbers = numbers_of(name);
    if (numbers.begin == 0) return;
    const fs::path folder = folder_of(file);
    by_stem_[folder / name.substr(0, numbers.begin)].insert(folder / name.substr(0, numbers.end));
  }

  std::mutex mutex_;
  std::set<fs::path> listed_;
  std::map<fs::path, std::set<fs::path>> by_stem_;
};

Found& found_here() {
  static Found found;
  return found;
}

// True where there is no such file, or a regular one that is locked from now on by `held`.
bool is_abandoned(const fs::path& name, Descriptor& held) {
  held.reset(open_again(name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!held.is_open()) return errno == ENOENT;
  struct stat status {};
  return ::fstat(held.get(), &status) == 0 && S_ISREG(status.st_mode) &&
         ::flock(held.get(), LOCK_EX | LOCK_NB) == 0;
}

// Someone who removes leftovers may come between open() and flock(); the name is then gone.
bool lock(int fd) {
  struct stat status {};
  const int locked = ::flock(fd, LOCK_EX | LOCK_NB);
  if (locked != 0 && errno == EWOULDBLOCK) return false;
  return ::fstat(fd, &status) != 0 || status.st_nlink > 0;
}

}  // namespace

fs::path with_suffix(const fs::path& temporary, std::string_view suffix) {
  fs::path name = temporary;
  name += suffix;
  return name;
}

fs::path folder_of(const fs::path& file) {
  return file.parent_path().empty() ? fs::path(".") : file.parent_path();
}

fs::path next_temporary_name(const fs::path& target) {
  static std::atomic<unsigned> count{0};
  return target.parent_path() / (stem_of(target.filename().string()) + std::to_string(::getpid()) +
                                 "-" + std::to_string(count++));
}

int create_locked(const fs::path& name, unsigned mode) {
  const int fd = open_again(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0 || lock(fd)) return fd;
  ::close(fd);
  errno = EEXIST;
  return -1;
}

void remove_temporary(const fs::path& temporary) {
  for (const std::string_view suffix : {std::string_view(), kHierarchySuffix, kLockSuffix}) {
    ::unlink(with_suffix(temporary, suffix).c_str());
  }
}

// A writer holds a lock on its temporary, or on the lock file beside it, until the temporary has
// its final name.
void remove_leftovers(const fs::path& target) {
  for (const fs::path& temporary : found_here().take(target)) {
    Descriptor lock_file;
    Descriptor file;
    if (is_abandoned(with_suffix(temporary, kLockSuffix), lock_file) &&
        is_abandoned(temporary, file)) {
      remove_temporary(temporary);
    }
  }
}

void remember_leftover(const fs::path& temporary) { found_here().add(temporary); }

}  // namespace qsim::formats
