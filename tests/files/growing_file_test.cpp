// formats/files/growing_file.h: lines survive, a torn one goes, nothing of another kind is touched.
#include "formats/files/growing_file.h"

#include <fstream>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "formats/files/files.h"
#include "tests/files/files_test_support.h"

namespace qsim {

using namespace formats;
namespace {

namespace fs = std::filesystem;

const std::string kHeader = "lines of a test";

void expect_refused(const fs::path& path, const std::string& message) {
  try {
    const GrowingFile file(path, kHeader);
    ADD_FAILURE() << path << " is taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadInput);
    EXPECT_EQ(error.what(), path.string() + ": " + message);
  }
}

class GrowingFileTest : public ::testing::Test {
 protected:
  GrowingFileTest() {
    std::string pattern = (fs::temp_directory_path() / "qsim-growing-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    path_ = folder_ / "kept";
  }
  ~GrowingFileTest() override { fs::remove_all(folder_); }
  void write(const std::string& content) const { std::ofstream(path_) << content; }

  fs::path folder_;
  fs::path path_;
};

TEST_F(GrowingFileTest, LinesAreThereWhenItIsOpenedAgain) {
  {
    GrowingFile file(path_, kHeader);
    EXPECT_TRUE(file.lines().empty());
    file.append("one");
    EXPECT_EQ(read_text_file(path_), kHeader + "\none\n");  // at once
    file.append("two");
  }
  GrowingFile file(path_, kHeader);
  EXPECT_EQ(file.lines(), (std::vector<std::string>{"one", "two"}));
  file.append("three");
  EXPECT_EQ(read_text_file(path_), kHeader + "\none\ntwo\nthree\n");
}

TEST_F(GrowingFileTest, ALineThatAKilledProcessLeftUnfinishedIsRemoved) {
  write(kHeader + "\none\ntw");
  GrowingFile file(path_, kHeader);
  EXPECT_EQ(file.lines(), (std::vector<std::string>{"one"}));
  file.append("two");
  EXPECT_EQ(read_text_file(path_), kHeader + "\none\ntwo\n");
}

TEST_F(GrowingFileTest, AFileOfAnotherKindIsLeftAsItIs) {
  for (const std::string content :
       {"notes\nof mine", "notes without an end", "\n", "lines of a\n"}) {
    write(content);
    expect_refused(path_,
                   "is not a file that this option keeps: its first line is another one; "
                   "name another file");
    EXPECT_EQ(read_text_file(path_), content);
  }
}

TEST_F(GrowingFileTest, OneProcessHasItAtATime) {
  const GrowingFile file(path_, kHeader);
  expect_refused(path_,
                 "another qsim process is writing into this file; wait for it, or name "
                 "another file");
}

TEST_F(GrowingFileTest, SaysWhyItCannotBeOpened) {
  expect_refused(folder_ / "no" / "kept", "cannot be written: no such folder");
  expect_refused(folder_, "cannot be written: Is a directory");
  expect_refused("/dev/null", "is a device or a pipe; expected a file");
}

}  // namespace
}  // namespace qsim
