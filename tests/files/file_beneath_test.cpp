// Files that a model may name: beneath its folder, whatever leads there, and nothing else.
#include "formats/files/file_beneath.h"

#include <array>

#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/files/files_test_support.h"

namespace qsim {

using namespace formats;
namespace {

namespace fs = std::filesystem;

// home/ is the model's folder; everything else lies outside.
class FileBeneathTest : public testing::Test {
 protected:
  FileBeneathTest() {
    fs::create_directories(home_ / "sub");
    fs::create_directories(folder_.path() / "outside");
    fs::create_directories(folder_.path() / "home-too");
    folder_.file("home/sub/inside", "inside");
    folder_.file("outside/secret", "secret");
    folder_.file("home-too/secret", "secret");
  }

  std::string content(const std::string& name) const {
    const FileBeneath file(home_, name, "where");
    std::string text(static_cast<std::size_t>(file.bytes()), ' ');
    file.read(0, std::as_writable_bytes(std::span(text)));
    return text;
  }
  std::string error(const std::string& name) const {
    return error_of([&] { content(name); });
  }

  TemporaryFolder folder_;
  fs::path home_ = folder_.path() / "home";
};

TEST_F(FileBeneathTest, LinksMayLeadAnywhereBeneath) {
  fs::create_symlink("sub/inside", home_ / "link");
  fs::create_symlink(home_ / "sub" / "inside", home_ / "absolute");
  fs::create_symlink("../home/sub", home_ / "round");
  EXPECT_EQ(content("sub/inside"), "inside");
  EXPECT_EQ(content("./sub//inside"), "inside");
  EXPECT_EQ(content("link"), "inside");
  EXPECT_EQ(content("absolute"), "inside");
  EXPECT_EQ(content("round/inside"), "inside");
}

TEST_F(FileBeneathTest, LinksMayNotLeadOut) {
  fs::create_symlink("../outside/secret", home_ / "link");
  fs::create_symlink(folder_.path() / "outside", home_ / "folder");
  fs::create_symlink("../home-too", home_ / "neighbour");
  fs::create_symlink("/proc/self/root" + (folder_.path() / "outside").string(), home_ / "magic");
  for (const char* name : {"link", "folder/secret", "neighbour/secret", "magic/secret"}) {
    expect_contains(error(name), "leads out of the model's folder");
  }
  fs::create_symlink("loop", home_ / "loop");
  expect_contains(error("loop"), "cannot be found");
}

TEST_F(FileBeneathTest, NamesMayNotClimb) {
  using std::string_literals::operator""s;
  for (const std::string& name : {"../outside/secret"s, "sub/../../outside/secret"s, "sub/.."s, ""s,
                                  "/etc/passwd"s, "sub/inside\0x"s}) {
    expect_contains(error(name), "expected a path inside the model's folder, without '..'");
  }
}

TEST_F(FileBeneathTest, OnlyRegularFilesAreOpened) {
  ASSERT_EQ(::mkfifo((home_ / "pipe").c_str(), 0600), 0);  // opening one would wait for a writer
  fs::create_symlink("/dev/zero", home_ / "device");
  expect_contains(error("pipe"), "is not a regular file");
  expect_contains(error("sub"), "is not a regular file");
  expect_contains(error("device"), "leads out of the model's folder");
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = (home_ / "s").string();
  ASSERT_LT(path.size(), sizeof address.sun_path);
  path.copy(address.sun_path, path.size());
  ASSERT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  expect_contains(error("s"), "is not a regular file");
  ::close(socket);
}

TEST_F(FileBeneathTest, WhatWasOpenedCountsAndNotWhatItsNameBecame) {
  fs::create_symlink("sub/inside", home_ / "link");
  const FileBeneath file(home_, "link", "where");
  fs::remove(home_ / "link");
  fs::create_symlink("../outside/secret", home_ / "link");
  std::array<std::byte, 6> bytes{};
  file.read(0, bytes);
  EXPECT_EQ(bytes[0], std::byte{'i'});
}

// A folder that is itself a link counts as where it leads.
TEST_F(FileBeneathTest, FolderMayBeALink) {
  fs::create_symlink("home", folder_.path() / "alias");
  EXPECT_EQ(FileBeneath(folder_.path() / "alias", "sub/inside", "where").bytes(), 6);
}

// In a process of its own, whose root is the folder: there is no /proc, which says where links
// lead. Exit code 77: it may not have such a root.
TEST_F(FileBeneathTest, WithoutProcNothingIsBeneath) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (::geteuid() != 0 && ::unshare(CLONE_NEWUSER) != 0) ::_exit(77);
    if (::chroot(folder_.path().c_str()) != 0 || ::chdir("/") != 0) ::_exit(77);
    const std::string message = error_of([] { FileBeneath("home", "sub/inside", "where"); });
    ::_exit(message ==
                    "where: external data file 'home/sub/inside' cannot be checked to be in the "
                    "model's folder: /proc is not mounted here"
                ? 0
                : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "skipped: no root of one's own may be had here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(FileBeneathTest, ReadingBeyondTheEndIsAnError) {
  const FileBeneath file(home_, "sub/inside", "where");
  std::array<std::byte, 8> bytes{};
  expect_contains(error_of([&] { file.read(0, bytes); }), "ends at byte 6");
}

}  // namespace
}  // namespace qsim
