// Whose the files are that qsim runs as code.
#include "formats/files/own_file.h"

#include <fstream>

#include <sys/stat.h>
#include <unistd.h>

#include "tests/files/files_test_support.h"

namespace qsim {

using namespace formats;
namespace {

namespace fs = std::filesystem;

constexpr uid_t kSomebody = 4711;

class OwnFile : public ::testing::Test {
 protected:
  OwnFile() {
    for (const char* name : {"above", "above/cache"}) fs::create_directory(folder_.path() / name);
    folder_.file("above/cache/x.so", "code");
    set_mode(above_, 0755);
    set_mode(cache_, 0755);
    set_mode(library_, 0644);
  }

  static void set_mode(const fs::path& path, mode_t mode) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
  }
  void expect_refused(const std::string& why) const {
    EXPECT_NE(why_not_own(library_).find(why), std::string::npos) << why_not_own(library_);
    try {
      require_own(library_);
      ADD_FAILURE() << "it is taken, though " << why;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kBadInput);
      EXPECT_NE(std::string(error.what())
                    .find("x.so: qsim runs no code from here, as it is not "
                          "the caller's alone: "),
                std::string::npos)
          << error.what();
    }
  }

  TemporaryFolder folder_;  // in /tmp, which others write into and which is sticky
  fs::path above_ = folder_.path() / "above";
  fs::path cache_ = above_ / "cache";
  fs::path library_ = cache_ / "x.so";
};

TEST_F(OwnFile, IsTakenWhereNobodyElseWrites) {
  EXPECT_EQ(why_not_own(library_), "");
  EXPECT_EQ(require_own(library_), fs::canonical(library_));
  EXPECT_EQ(why_not_own(cache_), "");
  EXPECT_EQ(why_not_own("/lib/x86_64-linux-gnu/libc.so.6"), "");  // root's
}

TEST_F(OwnFile, IsRefusedWhereOthersWriteItOrAFolderAboveIt) {
  for (const fs::path& part : {library_, cache_, above_}) {
    struct stat before {};
    ASSERT_EQ(::stat(part.c_str(), &before), 0);
    for (const mode_t writer : {S_IWOTH, S_IWGRP}) {
      // The group of an ordinary user may be his own.
      if (writer == S_IWGRP && ::geteuid() != 0) continue;
      set_mode(part, before.st_mode | writer);
      expect_refused("others may write '" + fs::canonical(part).string() + "' (mode ");
    }
    set_mode(part, before.st_mode);
  }
  EXPECT_EQ(why_not_own(library_), "");
}

TEST_F(OwnFile, MayHaveAStickyFolderFurtherUpButNotAroundIt) {
  set_mode(above_, 01777);
  EXPECT_EQ(why_not_own(library_), "");
  EXPECT_EQ(why_not_own(cache_), "");
  set_mode(above_, 0755);
  set_mode(cache_, 01777);
  expect_refused("(mode 1777)");
  EXPECT_NE(why_not_own(cache_), "");
}

TEST_F(OwnFile, IsRefusedWhereItOrAFolderAboveItBelongsToSomebodyElse) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to give files away";
  for (const fs::path& part : {library_, cache_, above_}) {
    ASSERT_EQ(::chown(part.c_str(), kSomebody, static_cast<gid_t>(-1)), 0);
    expect_refused("'" + fs::canonical(part).string() + "' belongs to another user (4711)");
    ASSERT_EQ(::chown(part.c_str(), 0, static_cast<gid_t>(-1)), 0);
  }
}

TEST_F(OwnFile, IsJudgedWhereItsLinksLead) {
  folder_.file("evil.so", "code");
  set_mode(folder_.path() / "evil.so", 0666);
  fs::remove(library_);
  fs::create_symlink("../../evil.so", library_);
  expect_refused("evil.so' (mode 666)");
  // A link in a folder of others leads to our own file: that file is what is opened.
  folder_.file("above/own.so", "code");
  fs::create_directory(folder_.path() / "all");
  set_mode(folder_.path() / "all", 0777);
  fs::create_symlink("../above/own.so", folder_.path() / "all/x.so");
  EXPECT_EQ(require_own(folder_.path() / "all/x.so"), fs::canonical(above_ / "own.so"));
}

TEST_F(OwnFile, IsNotThere) {
  EXPECT_NE(why_not_own(cache_ / "y.so").find("cannot be judged: no such file"), std::string::npos);
}

TEST_F(OwnFile, FoldersAreMadeForTheCallerAloneWhateverTheUmask) {
  const mode_t before = ::umask(0);
  make_own_folder(cache_ / "a/b");
  ::umask(before);
  for (const char* name : {"a", "a/b"}) {
    struct stat status {};
    ASSERT_EQ(::stat((cache_ / name).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777U, 0700U) << name;
  }
  make_own_folder(cache_ / "a/b");  // it is there
  set_mode(cache_ / "a/b", 0777);
  EXPECT_THROW(make_own_folder(cache_ / "a/b"), Error);
  EXPECT_THROW(make_own_folder("/proc/no"), Error);
}

}  // namespace
}  // namespace qsim
