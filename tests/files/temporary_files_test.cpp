// Temporary files beside other processes: one at work keeps its own, whoever writes the same file.
#include "formats/files/temporary_files.h"

#include <array>
#include <functional>
#include <memory>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "formats/files/descriptor.h"
#include "formats/files/file_replacement.h"
#include "formats/files/files.h"
#include "tests/files/files_test_support.h"

namespace qsim {

using namespace formats;
namespace {

namespace fs = std::filesystem;

// A process that does its work when it is told to. Started first, so that it has not yet looked at
// any folder.
class OtherProcess {
 public:
  explicit OtherProcess(const std::function<void()>& work) {
    if (::pipe2(pipe_.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    child_ = ::fork();
    if (child_ < 0) throw std::runtime_error("no process");
    if (child_ == 0) ::_exit(works(work) ? 0 : 1);
    ::close(pipe_[0]);
  }
  ~OtherProcess() {
    if (child_ > 0) finish();
  }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;

  void begin() {
    if (begun_) return;
    begun_ = ::write(pipe_[1], "x", 1) == 1;
    ::close(pipe_[1]);
  }
  // True when the work ended without an error.
  bool finish() {
    begin();
    int status = -1;
    ::waitpid(child_, &status, 0);
    child_ = -1;
    return status == 0;
  }

 private:
  bool works(const std::function<void()>& work) const {
    ::close(pipe_[1]);
    char byte = 0;
    if (::read(pipe_[0], &byte, 1) != 1) return false;
    try {
      work();
      return true;
    } catch (const std::exception& error) {
      static_cast<void>(std::fprintf(stderr, "another process: %s\n", error.what()));
      return false;
    }
  }

  std::array<int, 2> pipe_{};
  pid_t child_ = -1;
  bool begun_ = false;
};

TEST(TemporaryFiles, FinishedOneStaysUntilItHasItsName) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "a";
  OtherProcess other([&] { write_file_atomically(path, "of the other"); });
  FileReplacement file(path);
  file.write("mine");
  EXPECT_TRUE(other.finish());
  EXPECT_EQ(read_text_file(path), "of the other");
  file.rename();
  EXPECT_EQ(read_text_file(path), "mine");
  EXPECT_EQ(folder.entries(), 1u);
}

// As the FST writer does it: the temporary becomes another file, and a second one comes beside it.
TEST(TemporaryFiles, OneOfAnotherWriterStaysWithWhatIsBesideIt) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "t.fst";
  OtherProcess early([&] { FileReplacement(path, FileReplacement::Writer::kAnother); });
  OtherProcess late([&] { write_file_atomically(path, "of the other"); });
  FileReplacement file(path, FileReplacement::Writer::kAnother);
  fs::remove(file.temporary());
  std::ofstream(file.temporary()) << "trace";
  const fs::path hierarchy = with_suffix(file.temporary(), kHierarchySuffix);
  std::ofstream(hierarchy) << "names";
  EXPECT_TRUE(early.finish());
  EXPECT_TRUE(fs::exists(hierarchy));
  fs::remove(hierarchy);
  file.sync_written();
  EXPECT_TRUE(late.finish());
  file.rename();
  EXPECT_EQ(read_text_file(path), "trace");
  EXPECT_EQ(folder.entries(), 1u);
}

// Each write in a process that looks for leftovers anew.
TEST(TemporaryFiles, ProcessesThatWriteTheSameFileDoNotDisturbEachOther) {
  constexpr int kProcesses = 4;
  constexpr int kWrites = 60;
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "a";
  const std::string content(10'000, 'x');
  std::vector<std::unique_ptr<OtherProcess>> writers;
  for (int i = 0; i < kProcesses; ++i) {
    writers.push_back(std::make_unique<OtherProcess>([&] {
      for (int write = 0; write < kWrites; ++write) {
        OtherProcess once([&] { write_file_atomically(path, content); });
        if (!once.finish()) throw_bad_input("a write failed");
      }
    }));
  }
  for (const auto& writer : writers) writer->begin();
  for (const auto& writer : writers) EXPECT_TRUE(writer->finish());
  EXPECT_EQ(read_text_file(path), content);
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(TemporaryFiles, OnlyNamesThatAreMadeHereAreLeftovers) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "x.json";
  const std::vector<std::string> kept = {
      ".x.json.tmp-notes", ".x.json.tmp-",       ".x.json.tmp-1",     ".x.json.tmp-1-",
      ".x.json.tmp--1",    ".x.json.tmp-1-2.xz", ".x.json.tmp-1-2-3", "x.json.tmp-1-2",
      ".y.json.tmp-1-2",   ".x.json.tmp-a1-2",   ".x.json.tmp-1-2a"};
  for (const std::string& name : kept) folder.file(name, "not ours");
  fs::create_directory(folder.path() / ".x.json.tmp-3-4");
  fs::create_symlink("/nowhere", folder.path() / ".x.json.tmp-5-6");
  ASSERT_EQ(::mkfifo((folder.path() / ".x.json.tmp-7-8").c_str(), 0600), 0);
  for (const char* name : {".x.json.tmp-1-2", ".x.json.tmp-1-2.hier", ".x.json.tmp-1-2.lock",
                           ".x.json.tmp-2-0.hier", ".x.json.tmp-3-0.lock"}) {
    folder.file(name, "left");
  }
  write_file_atomically(path, "new");
  for (const std::string& name : kept) EXPECT_TRUE(fs::exists(folder.path() / name)) << name;
  EXPECT_EQ(folder.entries(), kept.size() + 3 + 1);
}

TEST(TemporaryFiles, LockBesideATemporaryKeepsAllOfIt) {
  const TemporaryFolder folder;
  folder.file(".a.tmp-1-2", "in writing");
  folder.file(".a.tmp-1-2.hier", "in writing");
  const fs::path lock = folder.file(".a.tmp-1-2.lock", "");
  const Descriptor writer(open_again(lock.c_str(), O_RDONLY));
  ASSERT_EQ(::flock(writer.get(), LOCK_EX), 0);
  write_file_atomically(folder.path() / "a", "new");
  EXPECT_EQ(folder.entries(), 4u);
}

// What appears later is another process's affair, or the next run's.
TEST(TemporaryFiles, FolderIsLookedAtOnce) {
  const TemporaryFolder folder;
  folder.file(".b.tmp-1-2", "left");
  write_file_atomically(folder.path() / "a", "new");
  folder.file(".b.tmp-1-3", "later");
  write_file_atomically(folder.path() / "b", "new");
  EXPECT_FALSE(fs::exists(folder.path() / ".b.tmp-1-2"));
  EXPECT_TRUE(fs::exists(folder.path() / ".b.tmp-1-3"));
}

TEST(TemporaryFiles, OneThatCouldNotBeRemovedGoesWithTheNextWrite) {
  const TemporaryFolder folder;
  write_file_atomically(folder.path() / "a", "old");
  remember_leftover(folder.file(".a.tmp-1-2", "left"));
  write_file_atomically(folder.path() / "a", "new");
  EXPECT_EQ(folder.entries(), 1u);
}

}  // namespace
}  // namespace qsim
