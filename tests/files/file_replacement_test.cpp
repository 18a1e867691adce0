// A file that takes another's place: whole or not at all, and without traces.
#include "formats/files/file_replacement.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "formats/files/descriptor.h"
#include "formats/files/files.h"
#include "formats/files/temporary_files.h"
#include "tests/files/files_test_support.h"

namespace qsim {

using namespace formats;
namespace {

namespace fs = std::filesystem;

std::string name_of_temporary(const fs::path& file, const std::string& numbers) {
  return "." + file.filename().string() + std::string(kTemporaryMark) + numbers;
}

TEST(FileReplacement, OldFileStandsUntilTheRename) {
  const TemporaryFolder folder;
  const fs::path path = folder.file("a", "old");
  FileReplacement file(path);
  EXPECT_EQ(file.temporary().parent_path(), folder.path());
  EXPECT_EQ(file.temporary().filename().string().rfind(name_of_temporary(path, ""), 0), 0u);
  file.write("new");
  EXPECT_EQ(read_text_file(path), "old");
  file.rename();
  file.sync_folder();
  EXPECT_EQ(read_text_file(path), "new");
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(FileReplacement, GivenUpLeavesTheOldFileAlone) {
  const TemporaryFolder folder;
  const fs::path path = folder.file("a", "old");
  FileReplacement(path).write("new");
  EXPECT_EQ(read_text_file(path), "old");
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(FileReplacement, TakesWhatAnotherWriterMadeUnderItsName) {
  const TemporaryFolder folder;
  FileReplacement file(folder.path() / "a", FileReplacement::Writer::kAnother);
  fs::remove(file.temporary());
  std::ofstream(file.temporary()) << "by another";
  file.sync_written();
  file.rename();
  EXPECT_EQ(read_text_file(folder.path() / "a"), "by another");
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(FileReplacement, TemporaryThatSomeoneRemovedIsNoMissingFolder) {
  const TemporaryFolder folder;
  FileReplacement missing(folder.path() / "b", FileReplacement::Writer::kAnother);
  fs::remove(missing.temporary());
  const std::string message =
      (folder.path() / "b").string() + ": cannot be written: its temporary file was removed";
  EXPECT_EQ(error_of([&] { missing.sync_written(); }), message);
  EXPECT_EQ(error_of([&] { missing.rename(); }), message);
}

TEST(FileReplacement, PermissionsStayAsTheyWere) {
  const TemporaryFolder folder;
  for (const mode_t mode : {0600U, 0666U, 0640U}) {
    const fs::path path = folder.file("a", "old");
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    write_file_atomically(path, "new");
    struct stat status {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, mode);
    FileReplacement file(path, FileReplacement::Writer::kAnother);
    fs::remove(file.temporary());
    std::ofstream(file.temporary()) << "by another";
    file.sync_written();
    file.rename();
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, mode);
  }
}

TEST(FileReplacement, RemovesWhatAKilledProcessLeftAndNothingElse) {
  const TemporaryFolder folder;
  const fs::path path = folder.file("a", "old");
  const fs::path left = folder.file(name_of_temporary(path, "4711-0"), "half");
  const fs::path used = folder.file(name_of_temporary(path, "4712-0"), "in writing");
  const fs::path other = folder.file(name_of_temporary("b", "4711-0"), "of another file");
  const Descriptor writer(open_again(used.c_str(), O_RDONLY));
  ASSERT_EQ(::flock(writer.get(), LOCK_EX), 0);
  write_file_atomically(path, "new");
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(used));
  EXPECT_TRUE(fs::exists(other));
  EXPECT_EQ(read_text_file(path), "new");
}

TEST(FileReplacement, NameThatIsTakenIsNoObstacle) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "a";
  // As an earlier process of the same number may have left them, still locked by another.
  std::vector<std::unique_ptr<Descriptor>> locks;
  for (int i = 0; i < 50; ++i) {
    const std::string numbers = std::to_string(::getpid()) + "-" + std::to_string(i);
    const fs::path taken = folder.file(name_of_temporary(path, numbers), "");
    locks.push_back(std::make_unique<Descriptor>(open_again(taken.c_str(), O_RDONLY)));
    ASSERT_EQ(::flock(locks.back()->get(), LOCK_EX), 0);
  }
  write_file_atomically(path, "new");
  EXPECT_EQ(read_text_file(path), "new");
}

TEST(FileReplacement, LongestNameCanBeWritten) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / std::string(255, 'n');
  write_file_atomically(path, "new");
  EXPECT_EQ(read_text_file(path), "new");
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(FileReplacement, DeviceIsNotReplaced) {
  expect_contains(error_of([] { FileReplacement("/dev/null"); }), "is a device or a pipe");
}

TEST(Files, SyncFileWantsAFileThatIsThere) {
  const TemporaryFolder folder;
  sync_file(folder.file("a", "x"));
  expect_contains(error_of([&] { sync_file(folder.path() / "none"); }), "cannot be written");
}

TEST(Files, RemoveFileTakesWhatIsThere) {
  const TemporaryFolder folder;
  const fs::path path = folder.file("a", "old");
  remove_file(path);
  EXPECT_FALSE(fs::exists(path));
  remove_file(path);
  fs::create_directory(path);
  expect_contains(error_of([&] { remove_file(path); }), "cannot be removed");
}

}  // namespace
}  // namespace qsim
