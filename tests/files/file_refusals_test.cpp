// What files.h refuses because of the kind of file that is there.
#include <fcntl.h>
#include <sys/stat.h>

#include "formats/files/file_replacement.h"
#include "formats/files/files.h"
#include "tests/files/files_test_support.h"

namespace qsim {

using namespace formats;
namespace {

TEST(FileRefusals, APipeHasNoSize) {
  const TemporaryFolder folder;
  const std::filesystem::path pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int both_ends = ::open(pipe.c_str(), O_RDWR | O_CLOEXEC);  // so that no opening waits
  ASSERT_GE(both_ends, 0);
  EXPECT_EQ(error_of([&] { file_bytes(pipe); }), pipe.string() + ": is a pipe; expected a file");
  ::close(both_ends);
}

TEST(FileRefusals, ADeviceIsNotReplaced) {
  EXPECT_EQ(error_of([] { FileReplacement{"/dev/null"}; }),
            "/dev/null: cannot be written: is a device or a pipe; expected a file");
}

TEST(FileRefusals, AFolderIsNotRemovedAsAFile) {
  const TemporaryFolder folder;
  folder.file("kept", "x");
  expect_contains(error_of([&] { remove_file(folder.path()); }),
                  folder.path().string() + ": cannot be removed: ");
  EXPECT_EQ(folder.entries(), 1u);
  remove_file(folder.path() / "not there");
}

}  // namespace
}  // namespace qsim
