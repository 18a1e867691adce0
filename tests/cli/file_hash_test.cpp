// The hash of provenance is the opened file's; a pipe has none.
#include "cli/session/inputs/file_hash.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "core/base/error.h"
#include "tests/cli/run_qsim.h"

namespace qsim {

using namespace cli;
using namespace formats;
namespace {

namespace fs = std::filesystem;

TEST(FileHash, OfAHeldFileIsThatOfWhatWasOpened) {
  const TestFolder folder;
  // More than a piece, so that the pieces are in their order.
  std::string bytes;
  for (int i = 0; bytes.size() < 700'000; ++i) bytes += std::to_string(i);
  folder.write("model", bytes);
  const HeldFile held(folder / "model");
  const std::string hash = file_hash(folder / "model");
  EXPECT_EQ(file_hash(held), hash);
  folder.write("other", bytes + "!");
  fs::rename(folder / "other", folder / "model");
  EXPECT_NE(file_hash(folder / "model"), hash);
  EXPECT_EQ(file_hash(held), hash);
}

TEST(FileHash, OfAFileThatWasWrittenToIsAnError) {
  const TestFolder folder;
  folder.write("model", "old");
  const HeldFile held(folder / "model");
  folder.write("model", "longer");
  EXPECT_THROW(file_hash(held), Error);
}

// Its bytes went to whoever read them; opening it again would wait for ever.
TEST(FileHash, OfAPipeIsNone) {
  const TestFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(file_hash(folder / "pipe"), "");
}

// Its bytes have no end.
TEST(FileHash, OfADeviceIsAnError) { EXPECT_THROW(file_hash("/dev/zero"), Error); }

}  // namespace
}  // namespace qsim
