// Reading and replacing whole files.
#include "formats/files/files.h"

#include <csignal>

#include <sys/resource.h>
#include <sys/stat.h>

#include "formats/files/file_replacement.h"
#include "tests/files/files_test_support.h"

namespace qsim {

using namespace formats;
namespace {

TEST(Files, ReadsBackWhatWasWritten) {
  const TemporaryFolder folder;
  std::string content(200'000, 'x');
  content[3] = '\0';
  content[199'999] = '\xff';
  write_file_atomically(folder.path() / "a.bin", content);
  EXPECT_EQ(read_text_file(folder.path() / "a.bin"), content);
  EXPECT_EQ(file_bytes(folder.path() / "a.bin"), 200'000);
  const auto bytes = read_file_range(folder.path() / "a.bin", 199'998, 2);
  EXPECT_EQ(bytes[0], std::byte{'x'});
  EXPECT_EQ(bytes[1], std::byte{0xff});
}

TEST(Files, MissingFileAndFolderAreNamed) {
  const TemporaryFolder folder;
  const auto missing = folder.path() / "missing.yaml";
  const std::string message = error_of([&] { read_text_file(missing); });
  expect_contains(message, missing.string());
  expect_contains(message, "no such file");
  expect_contains(error_of([&] { read_binary_file(folder.path()); }), "is a directory");
  expect_contains(error_of([&] { write_file_atomically(folder.path() / "no" / "a", ""); }),
                  "no such folder");
}

TEST(Files, GitLfsPointerIsRefusedByName) {
  const TemporaryFolder folder;
  const auto path =
      folder.file("m.onnx", "version https://git-lfs.github.com/spec/v1\noid sha256:");
  expect_contains(error_of([&] { read_binary_file(path); }), "git-LFS pointer");
}

TEST(Files, UnreadableFileSaysNoPermission) {
  if (::geteuid() == 0) GTEST_SKIP() << "skipped: root reads everything";
  const TemporaryFolder folder;
  const auto path = folder.file("a", "x");
  ::chmod(path.c_str(), 0);
  expect_contains(error_of([&] { read_text_file(path); }), "no permission");
}

TEST(Files, LongerThanAllowedIsRefused) {
  const TemporaryFolder folder;
  const auto path = folder.file("a", "12345");
  EXPECT_EQ(read_text_file(path, 5), "12345");
  expect_contains(error_of([&] { read_text_file(path, 4); }), "longer than the 4 bytes");
}

TEST(Files, RangeBeyondTheEndIsAnError) {
  const TemporaryFolder folder;
  const auto path = folder.file("a", "12345");
  expect_contains(error_of([&] { read_file_range(path, 3, 4); }), "ends at byte 5");
}

TEST(Files, DevicesAreNotRead) {
  expect_contains(error_of([&] { read_text_file("/dev/zero"); }), "is a device");
}

TEST(Files, FullDiskIsNamed) {
  expect_contains(error_of([&] { write_file_atomically("/dev/full", "x"); }), "the disk is full");
}

TEST(Files, FileThatIsBegunAndGivenUpSaysWhatWritingWouldSayAndLeavesNothing) {
  const TemporaryFolder folder;
  const std::filesystem::path old = folder.file("old", "kept");
  FileReplacement{old};
  FileReplacement{folder.path() / "new"};
  FileReplacement(folder.path() / "another's", FileReplacement::Writer::kAnother);
  EXPECT_EQ(read_text_file(old), "kept");
  EXPECT_EQ(folder.entries(), 1u);
  expect_contains(error_of([&] { FileReplacement{folder.path()}; }), "is a directory");
  expect_contains(error_of([&] { FileReplacement{folder.path() / "no" / "a"}; }), "no such folder");
  expect_contains(error_of([&] { FileReplacement{old / "a"}; }), "is a file, not a folder");
}

TEST(Files, FailedWriteLeavesTheOldFileAndNoTemporary) {
  const TemporaryFolder folder;
  const auto path = folder.file("a", "old");
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit{};
  ::getrlimit(RLIMIT_FSIZE, &old_limit);
  const rlimit limit{4096, old_limit.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &limit);
  const std::string message =
      error_of([&] { write_file_atomically(path, std::string(10'000, 'x')); });
  ::setrlimit(RLIMIT_FSIZE, &old_limit);
  expect_contains(message, "cannot be written");
  EXPECT_EQ(read_text_file(path), "old");
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(Files, WritingThroughALinkKeepsTheLink) {
  const TemporaryFolder folder;
  const auto path = folder.file("a", "old");
  std::filesystem::create_symlink(path, folder.path() / "link");
  write_file_atomically(folder.path() / "link", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path() / "link"));
  EXPECT_EQ(read_text_file(path), "new");
}

TEST(Files, WritingOverAFolderIsRefused) {
  const TemporaryFolder folder;
  expect_contains(error_of([&] { write_file_atomically(folder.path(), "x"); }), "is a directory");
  const auto file = folder.file("a", "x");
  expect_contains(error_of([&] { make_folder(file / "b"); }), "cannot be made");
  expect_contains(error_of([&] { make_folder(file); }), file.string());
  make_folder(folder.path() / "b" / "c");
  EXPECT_TRUE(std::filesystem::is_directory(folder.path() / "b" / "c"));
}

}  // namespace
}  // namespace qsim
