// report/text_table.h: columns of text, and numbers as people read them.
#include "report/text_table.h"

#include <sstream>

#include <gtest/gtest.h>

namespace qsim {

using namespace report;
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(TextTable, NumbersHaveThousandsSeparators) {
  EXPECT_EQ(with_thousands(std::uint64_t{0}), "0");
  EXPECT_EQ(with_thousands(std::uint64_t{999}), "999");
  EXPECT_EQ(with_thousands(std::uint64_t{1000}), "1,000");
  EXPECT_EQ(with_thousands(std::uint64_t{1234567}), "1,234,567");
  EXPECT_EQ(with_thousands(std::int64_t{-1234}), "-1,234");
  EXPECT_EQ(with_thousands(INT64_MIN), "-9,223,372,036,854,775,808");
}

TEST(TextTable, MegabytesHaveSevenCharactersAtMostUpToATerabyte) {
  EXPECT_EQ(megabytes(0), "0.000");
  EXPECT_EQ(megabytes(2'272), "0.002");
  EXPECT_EQ(megabytes(116'734'400), "116.734");
  EXPECT_EQ(megabytes(999'999'499), "999.999");
  EXPECT_EQ(megabytes(999'999'500), "1000");
  EXPECT_EQ(megabytes(999'999'000'000), "999999");
}

TEST(TextTable, PercentHasNoNegativeZero) {
  EXPECT_EQ(percent(-0.0004), "0.0%");
  EXPECT_EQ(percent(-0.0006), "-0.1%");
  EXPECT_EQ(percent(-0.626), "-62.6%");
}

TEST(TextTable, NoLineIsWiderThanTheLimitAndNumbersAreNeverCut) {
  TextTable table;
  table.columns = {{"layer"}, {"mapping"}, {"cycles", true, false}};
  table.rows = {{std::string(90, 'a'), std::string(90, 'b'), "123,456,789"},
                {"a\tb\nc", "ok", "1"}};
  const std::string text = layout(table);
  for (const std::string& line : lines_of(text)) EXPECT_LE(line.size(), kTableColumns) << line;
  EXPECT_NE(text.find("123,456,789"), std::string::npos);
  EXPECT_NE(text.find("a.. "), std::string::npos);
  EXPECT_NE(text.find("a\\x09b\\x0ac"), std::string::npos);
  EXPECT_EQ(lines_of(text).size(), 4u);
}

TEST(TextTable, AShareHasAsManyDecimalPlacesAsItNeeds) {
  EXPECT_EQ(share_text(0), "0.0%");
  EXPECT_EQ(share_text(0.25), "25.0%");
  EXPECT_EQ(share_text(-0.0005), "-0.1%");
  EXPECT_EQ(share_text(724'419.0 / 724'561 - 1), "-0.02%");
  EXPECT_EQ(share_text(1e-6), "0.0001%");
  EXPECT_EQ(share_text(0x1p-64), "0.000000000000000005%");
}

// The table of one shrinkable column beside one of 90 characters, which is never cut.
std::vector<std::string> cut_names(const std::vector<std::string>& names) {
  TextTable table;
  table.columns = {{"config"}, {"mapping", false, false}};
  for (const std::string& name : names) table.rows.push_back({name, std::string(80, 'm')});
  std::vector<std::string> lines = lines_of(layout(table));
  lines.erase(lines.begin(), lines.begin() + 2);
  for (std::string& line : lines) line.erase(line.find(' '));
  return lines;
}

TEST(TextTable, NamesThatDifferStillDoWhenTheyAreCut) {
  const std::string folder = "experiments/arrays/";
  using Names = std::vector<std::string>;
  EXPECT_EQ(cut_names({"one/" + folder, "two/" + folder}),
            (Names{"one/experiments/..", "two/experiments/.."}));
  EXPECT_EQ(cut_names({folder + "narrow.yaml", folder + "wide.yaml"}),
            (Names{"exper..narrow.yaml", "exper..s/wide.yaml"}));
  EXPECT_EQ(cut_names({folder + "narrow.yaml", folder + "narrow.yaml"}),
            (Names{"experiments/arra..", "experiments/arra.."}));
  EXPECT_EQ(cut_names({"a" + std::string(12, 'x') + "/" + folder + "1", "b" + folder + "/2",
                       "a" + std::string(12, 'x') + "/" + folder + "2"})
                .size(),
            3u);
}

TEST(TextTable, AColumnThatNoCutTellsApartIsAsWideAsItNeeds) {
  const std::vector<std::string> names = {
      std::string(20, 'a') + "1" + std::string(20, 'a'),
      std::string(20, 'a') + "2" + std::string(20, 'a'),
  };
  const std::vector<std::string> cut = cut_names(names);
  EXPECT_NE(cut[0], cut[1]);
  EXPECT_LT(cut[0].size(), names[0].size());
}

}  // namespace
}  // namespace qsim
