// The table of limits and its page say the same.
#include "core/base/limits.h"

#include <set>

#include "formats/files/files.h"
#include "tests/files/files_test_support.h"

namespace qsim {

using namespace formats;
namespace {

std::string row_of(const Limit& limit) {
  return "| `" + std::string(limit.name) + "` | " + std::to_string(limit.value) + " | " +
         std::string(limit.of) + " | " + std::string(limit.reason) + " | " +
         std::string(limit.exit_code) + " |\n";
}

TEST(Limits, PageListsTheTableAndNothingElse) {
  const std::string page =
      read_text_file(std::filesystem::path(QSIM_SOURCE_DIR) / "docs/reference/limits.md");
  std::size_t rows = 0;
  for (std::size_t at = page.find("\n| `kMax"); at != std::string::npos;
       at = page.find("\n| `kMax", at + 1)) {
    ++rows;
  }
  EXPECT_EQ(rows, kLimits.size());
  for (const Limit& limit : kLimits) {
    EXPECT_NE(page.find(row_of(limit)), std::string::npos)
        << "docs/reference/limits.md needs the row\n"
        << row_of(limit);
  }
}

// Constant by constant: the header declares no limit that the table leaves out.
TEST(Limits, TableHasEveryConstantOfTheHeader) {
  const std::string header =
      read_text_file(std::filesystem::path(QSIM_SOURCE_DIR) / "core/base/limits.h");
  std::set<std::string> names;
  for (const Limit& limit : kLimits) EXPECT_TRUE(names.insert(std::string(limit.name)).second);
  const std::string declaration = "inline constexpr std::int64_t ";
  std::size_t found = 0;
  for (std::size_t at = header.find(declaration); at != std::string::npos;
       at = header.find(declaration, at + 1)) {
    const std::size_t begin = at + declaration.size();
    const std::string name = header.substr(begin, header.find(' ', begin) - begin);
    EXPECT_TRUE(names.contains(name)) << name;
    ++found;
  }
  EXPECT_EQ(found, kLimits.size());
}

}  // namespace
}  // namespace qsim
