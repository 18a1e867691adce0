// Found by hostile files: `name: "abc` without its second quote took in the keys below it, and the
// configuration was simulated without them; as did a single quote. No value goes over a line's end.
#include "formats/settings/arch_config_file.h"
#include "formats/text/yaml.h"
#include "tests/files/files_test_support.h"

namespace qsim {

using namespace formats;
namespace {

std::string error_in(const std::string& text) {
  return error_of([&] { parse_yaml(text, "f.yaml"); });
}

TEST(RegressionYamlLines, AQuoteThatIsLeftOpenIsRefusedWhereItOpens) {
  const std::string error =
      "f.yaml:1:7: name: the quote is not closed on its line; a value is on one line";
  for (const std::string quote : {"\"", "'"}) {
    const std::string keys = "\narray_rows: 8\narray_cols: 8\n";
    EXPECT_EQ(error_in("name: " + quote + "abc" + keys), error);
    EXPECT_EQ(error_in("name: " + quote + "abc" + keys + "model: " + quote + "x" + quote + "\n"),
              error);
    EXPECT_EQ(error_in("name: " + quote + "abc\n  def" + quote + "\n"), error);
    EXPECT_EQ(error_in("name: " + quote + "abc\r\n  def" + quote + "\r\n"), error);
  }
  EXPECT_EQ(error_in("name: \"abc\\\n  def\"\n"), error);
  EXPECT_EQ(error_in("name: 'it''s\n  so'\n"), error);
  EXPECT_EQ(error_in("{name: \"a\",\n b: \"c\n, d: \"}\n"),
            "f.yaml:2:5: b: the quote is not closed on its line; a value is on one line");
}

TEST(RegressionYamlLines, AConfigurationWithAnOpenQuoteIsNotLoadedWithDefaults) {
  const TemporaryFolder folder;
  const auto path = folder.file("c.yaml", "name: \"abc\narray_rows: 8\narray_cols: 8\n");
  expect_contains(error_of([&] { load_arch_config(path); }),
                  "c.yaml:1:7: name: the quote is not closed on its line; a value is on one line");
}

TEST(RegressionYamlLines, APlainValueThatGoesOnIsRefused) {
  const std::string what = "the value goes on in the next line; a value is on one line";
  EXPECT_EQ(error_in("name: abc\n  def\nb: 1\n"), "f.yaml:1:7: name: " + what);
  EXPECT_EQ(error_in("name: abc\n\n  def\n"), "f.yaml:1:7: name: " + what);
  EXPECT_EQ(error_in("name: abc\r\n  def\r\n"), "f.yaml:1:7: name: " + what);
  EXPECT_EQ(error_in("a: [1,\n 2\n 3]\n"), "f.yaml:2:2: " + what);
}

TEST(RegressionYamlLines, BlocksOfLinesAndBareTagsAreRefused) {
  const std::string block =
      "f.yaml:1:4: a: found a block of lines ('|' or '>'); a value is on one line";
  EXPECT_EQ(error_in("a: |\n  x\n  y\nb: 1\n"), block);
  EXPECT_EQ(error_in("a: >-\n  x\nb: 1\n"), block);
  EXPECT_EQ(error_in("a: ! \"x\"\n"), "f.yaml:1:4: a: found a tag ('!'); tags are not allowed");
  EXPECT_NE(error_in("a: !x [1, 2]\n").find("found a tag ('!x'); tags are not allowed"),
            std::string::npos);
  EXPECT_NE(error_in("!!binary {a: 1}\n").find("tags are not allowed"), std::string::npos);
  EXPECT_NE(error_in("a:\n  - !y\n    b: 1\n").find("found a tag ('!y')"), std::string::npos);
}

// yaml-cpp ignored the line wherever it was.
TEST(RegressionYamlLines, ALineThatBeginsWithAPercentSignIsNotPassedOver) {
  const std::string what =
      ":1: found a directive (a line that begins with '%'); directives are not allowed";
  EXPECT_EQ(error_in("model: vgg8\n%array_cols: 8\n"), "f.yaml:2" + what);
  EXPECT_EQ(error_in("%array_cols: 8\nmodel: vgg8\n"), "f.yaml:1" + what);
  EXPECT_EQ(error_in("model: vgg8\n\n%"), "f.yaml:3" + what);
  EXPECT_EQ(parse_yaml("a: \"%\"\nb: 5% # %\n", "f").at("b").text(), "5%");
}

TEST(RegressionYamlLines, QuotesThatCloseAndListsOverSeveralLinesAreRead) {
  const YamlNode root = parse_yaml(
      "\xef\xbb\xbf"
      "a: \"x\\\"y\\\\\"\r\nb: 'it''s'\nc: [1,\n    2]\nd:\n  - e # \" ' |\n",
      "f");
  EXPECT_EQ(root.at("a").text(), "x\"y\\");
  EXPECT_EQ(root.at("b").text(), "it's");
  EXPECT_EQ(root.at("c").items().size(), 2u);
  EXPECT_EQ(root.at("d").items()[0].text(), "e");
}

}  // namespace
}  // namespace qsim
