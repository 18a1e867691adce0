// Folders that one process at a time writes into. (Two locks of one process exclude each other as
// those of two processes do; tests/faults/writers_test.py has real ones.)
#include "formats/files/locked_folder.h"

#include "tests/files/files_test_support.h"

namespace qsim {

using namespace formats;
namespace {

namespace fs = std::filesystem;

constexpr const char* kTaken = ": another qsim process is writing into this folder; wait for it,";

TEST(LockedFolder, IsMadeWithItsParentsWhichAreListed) {
  const TemporaryFolder folder;
  std::vector<fs::path> made;
  const LockedFolder locked(folder.path() / "a" / "b", made);
  EXPECT_TRUE(locked.is_locked());
  EXPECT_EQ(made, (std::vector<fs::path>{folder.path() / "a", folder.path() / "a" / "b"}));
  EXPECT_TRUE(locked.is_at(folder.path() / "a" / "." / "b"));
  EXPECT_FALSE(locked.is_at(folder.path() / "a"));
}

TEST(LockedFolder, IsRefusedByEveryNameWhileItIsLocked) {
  const TemporaryFolder folder;
  const fs::path there = folder.path() / "there";
  fs::create_directory_symlink(there, folder.path() / "link");
  std::vector<fs::path> made;
  {
    const LockedFolder locked(there, made);
    for (const fs::path& name : {there, folder.path() / "link", folder.path() / "." / "there"}) {
      std::vector<fs::path> nothing;
      expect_contains(error_of([&] { LockedFolder(name, nothing); }), name.string() + kTaken);
      EXPECT_TRUE(nothing.empty()) << name;
    }
    const LockedFolder inside(there / "deeper", made);
    EXPECT_TRUE(inside.is_locked());
  }
  EXPECT_TRUE(LockedFolder(there, made).is_locked());
  EXPECT_EQ(made.size(), 2u);
}

TEST(LockedFolder, ThatCannotBeMadeSaysWhy) {
  const TemporaryFolder folder;
  const fs::path file = folder.file("file", "x");
  std::vector<fs::path> made;
  expect_contains(error_of([&] { LockedFolder(file, made); }), "is a file; expected a folder");
  expect_contains(error_of([&] { LockedFolder(file / "b", made); }), "cannot be made: ");
  EXPECT_TRUE(made.empty());
}

}  // namespace
}  // namespace qsim
