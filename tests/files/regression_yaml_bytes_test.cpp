// Found by hostile files: a NUL in a YAML file was part of a value, and 80,000 keys took a minute
// to refuse, since each was compared with all before it.
#include "core/base/limits.h"
#include "formats/settings/arch_config_file.h"
#include "formats/text/yaml.h"
#include "tests/files/files_test_support.h"

namespace qsim {

using namespace formats;
namespace {

std::string refusal(const std::string& text) {
  return error_of([&] { parse_yaml(text, "f.yaml"); });
}

TEST(RegressionYamlBytes, AFileOfVeryManyKeysIsRefusedAtTheFirstOneTooMany) {
  std::string text;
  for (int i = 0; i < 80'000; ++i) text += "k" + std::to_string(i) + ": 1\n";
  ASSERT_LT(std::ssize(text), kMaxYamlBytes);
  EXPECT_EQ(refusal(text), "f.yaml:129:1: found more than 128 keys in one map");
  EXPECT_EQ(parse_yaml(text.substr(0, text.find("k128:")), "f.yaml").at("k127").text(), "1");
}

TEST(RegressionYamlBytes, ControlCharactersAndBrokenUtf8AreRefusedWhereTheyStand) {
  const std::string rest = "; a YAML file is UTF-8 text without control characters";
  EXPECT_EQ(refusal(std::string("a: 1\nb: x\0y\n", 12)), "f.yaml:2:5: found the byte 0x00" + rest);
  EXPECT_EQ(refusal("a: x\x1b[0m\n"), "f.yaml:1:5: found the byte 0x1b" + rest);
  EXPECT_EQ(refusal("a: x\rb: 2\n"), "f.yaml:1:5: found the byte 0x0d" + rest);
  EXPECT_EQ(refusal("a: \xff\n"), "f.yaml:1:4: found the byte 0xff" + rest);
  EXPECT_EQ(refusal("# \xc2\x85 a: 2\n"), "f.yaml:1:3: found the byte 0xc2" + rest);
}

TEST(RegressionYamlBytes, AConfigurationsNameIsOneLineOfPrintableText) {
  const TemporaryFolder folder;
  const auto refusal_of = [&](const char* text) {
    return error_of([&] { load_arch_config(folder.file("c.yaml", text)); });
  };
  expect_contains(refusal_of("name: \"a\\nverify: 0 mismatches\"\n"),
                  "c.yaml:1:7: name: found 'a\\x0averify: 0 mismatches'; expected one line of "
                  "printable text");
  expect_contains(refusal_of("model: \"a\\u001b[2J\"\n"), "c.yaml:1:8: model: found 'a\\x1b[2J'");
}

TEST(RegressionYamlBytes, AnyTextIsWrittenSoThatItReadsBack) {
  const std::string text =
      "a\"b\\\n\x01\x7f\xc2\x85\xe2\x80\xae\xe2\x80\xa8 \xc3\xa9\xf0\x9f\x90\x88";
  EXPECT_EQ(parse_yaml("x: " + yaml_quoted(text), "f.yaml").at("x").text(), text);
  EXPECT_EQ(parse_yaml("x: " + yaml_quoted("a\xff"), "f.yaml").at("x").text(), "a\xef\xbf\xbd");
}

}  // namespace
}  // namespace qsim
