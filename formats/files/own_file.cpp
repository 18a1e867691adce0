#include "formats/files/own_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <vector>

#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "core/base/error.h"
#include "formats/files/descriptor.h"
#include "formats/files/files.h"

namespace qsim::formats {
namespace {

namespace fs = std::filesystem;

// A group of one, by the custom of Debian and others: it is called as its user, whose first group
// it is, and lists nobody else. The group of root is not such a group: processes of containers are
// in it without being listed.
bool is_callers_group(gid_t gid) {
  if (::geteuid() == 0) return false;
  const passwd* user = ::getpwuid(::geteuid());
  if (user == nullptr || user->pw_gid != gid) return false;
  const std::string name = user->pw_name;
  const group* found = ::getgrgid(gid);
  if (found == nullptr || name != found->gr_name) return false;
  for (char** member = found->gr_mem; *member != nullptr; ++member) {
    if (name != *member) return false;
  }
  return true;
}

// With an access control list the bits of the group are the most that anybody in the list has.
bool others_write(const fs::path& part, const struct stat& status) {
  if ((status.st_mode & S_IWOTH) != 0) return true;
  if ((status.st_mode & S_IWGRP) == 0) return false;
  const bool has_list = ::lgetxattr(part.c_str(), "system.posix_acl_access", nullptr, 0) > 0;
  return has_list || !is_callers_group(status.st_gid);
}

std::string why_not_own_part(const fs::path& part, bool may_be_sticky) {
  struct stat status {};
  if (::lstat(part.c_str(), &status) != 0) {
    return "'" + part.string() + "' cannot be judged: " + error_reason(errno);
  }
  if (status.st_uid != 0 && status.st_uid != ::geteuid()) {
    return "'" + part.string() + "' belongs to another user (" + std::to_string(status.st_uid) +
           ")";
  }
  const bool is_sticky = S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX) != 0;
  if (!others_write(part, status) || (may_be_sticky && is_sticky)) return "";
  char mode[16];
  std::snprintf(mode, sizeof mode, "%o", static_cast<unsigned>(status.st_mode & 07777));
  return "others may write '" + part.string() + "' (mode " + mode + ")";
}

bool holds_executable(const fs::path& folder) {
  std::error_code error;
  const fs::path executable = fs::read_symlink("/proc/self/exe", error);
  return std::mismatch(folder.begin(), folder.end(), executable.begin(), executable.end()).first ==
         folder.end();
}

std::string why_not_read(const fs::path& path, const std::error_code& error) {
  return "'" + path.string() + "' cannot be judged: " + error_reason(error.value());
}

// `part` has no links.
std::string why_not_own_place(fs::path part) {
  std::error_code error;
  // The file and the folder that it is in, or the folder itself.
  int strict = fs::is_directory(part, error) ? 1 : 2;
  while (true) {
    const std::string why = why_not_own_part(part, strict <= 0);
    if (!why.empty()) return why;
    --strict;
    if (part == part.parent_path() || holds_executable(part.parent_path())) return "";
    part = part.parent_path();
  }
}

}  // namespace

std::string why_not_own(const fs::path& path) {
  std::error_code error;
  const fs::path place = fs::canonical(path, error);
  return error ? why_not_read(path, error) : why_not_own_place(place);
}

// Links are followed once: one that is exchanged in between gains nothing.
fs::path require_own(const fs::path& path) {
  std::error_code error;
  fs::path place = fs::canonical(path, error);
  const std::string why = error ? why_not_read(path, error) : why_not_own_place(place);
  if (why.empty()) return place;
  throw_bad_input(path.string() +
                  ": qsim runs no code from here, as it is not the caller's alone: " + why +
                  "; give it to the user who runs qsim and take it from others (chmod go-w), or "
                  "set QSIM_CACHE to another folder");
}

void make_own_folder(const fs::path& path) {
  std::error_code error;
  std::vector<fs::path> missing;
  for (fs::path part = fs::absolute(path, error).lexically_normal();
       !error && !fs::exists(part, error) && !error; part = part.parent_path()) {
    missing.push_back(part);
  }
  for (auto part = missing.rbegin(); part != missing.rend(); ++part) {
    constexpr mode_t kOwn = 0700;
    if (::mkdir(part->c_str(), kOwn) != 0) break;  // make_folder() says why
  }
  make_folder(path);
  require_own(path);
}

}  // namespace qsim::formats
