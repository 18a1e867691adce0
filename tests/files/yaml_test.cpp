// The strict YAML reader: each refusal says where, what was found and what is allowed.
#include "formats/text/yaml.h"

#include "tests/files/files_test_support.h"

namespace qsim {

using namespace formats;
namespace {

YamlNode parse(const std::string& text) { return parse_yaml(text, "f.yaml"); }

std::string parse_error(const std::string& text) {
  return error_of([&] { parse(text); });
}

TEST(Yaml, ReadsMapsListsAndScalars) {
  const YamlNode root = parse("a: 3\nb: [1, -2]\nc:\n  - {d: true}\ne: \"5\"\nf: 0.5 # comment\n");
  EXPECT_EQ(root.at("a").integer(0, 3), 3);
  EXPECT_EQ(integers(root, "b", 2, -2, 1), (std::vector<std::int64_t>{1, -2}));
  EXPECT_TRUE(root.at("c").items()[0].at("d").boolean());
  EXPECT_EQ(root.at("e").text(), "5");
  EXPECT_EQ(root.at("f").number(), 0.5);
  EXPECT_EQ(root.find("g"), nullptr);
  EXPECT_EQ(integer_or(root, "g", 0, 9, 7), 7);
  EXPECT_FALSE(boolean_or(root, "g", false));
  EXPECT_EQ(text_or(root, "g", "x"), "x");
}

TEST(Yaml, DuplicateKeyIsRefusedAtItsSecondPlace) {
  EXPECT_EQ(parse_error("a: 1\nb: 2\na: 3\n"),
            "f.yaml:3:1: duplicate key 'a'; the first is in line 1");
  EXPECT_EQ(parse_error("x: 1\ny: {a: 1, a: 3}\n"),
            "f.yaml:2:11: duplicate key 'a'; the first is in line 2");
}

TEST(Yaml, AnchorsAliasesTagsAndSecondDocumentsAreRefused) {
  expect_contains(parse_error("a: &x 1\n"), "f.yaml:1:4: a: found an anchor");
  expect_contains(parse_error("a: *x\n"), "f.yaml:1:");
  expect_contains(parse_error("a: !!binary x\n"), "found a tag");
  expect_contains(parse_error("a: 1\n---\nb: 2\n"), "second document");
  expect_contains(parse_error("a:\n"),
                  "the value is empty; give one after a colon, or leave the key out");
  expect_contains(parse_error(""), "the file is empty");
  expect_contains(parse_error("# only a comment\n"), "the file is empty");
  expect_contains(parse_error("? [a]\n: 1\n"), "found a list or map as a key");
}

TEST(Yaml, SyntaxErrorsHaveAPosition) {
  EXPECT_EQ(parse_error("a: 1\nb: [1, 2\n").substr(0, 7), "f.yaml:");
  EXPECT_EQ(parse_error("a: 1\n\tb: 2\n").substr(0, 9), "f.yaml:2:");
}

TEST(Yaml, ABracketThatIsNotClosedIsRefusedWhereItOpens) {
  const std::string list = "the '[' is not closed; expected ']' at the end of the list";
  const std::string map = "the '{' is not closed; expected '}' at the end of the map";
  EXPECT_EQ(parse_error("name: [a"), "f.yaml:1:7: name: " + list);
  EXPECT_EQ(parse_error("name: [a\n"), "f.yaml:1:7: name: " + list);
  EXPECT_EQ(parse_error("name: [a\nrows: 4\ncols: 4\n"), "f.yaml:1:7: name: " + list);
  EXPECT_EQ(parse_error("a: {b: 1, c\n"), "f.yaml:1:4: a: " + map);
  EXPECT_EQ(parse_error("a: [1, [2, 3]\n"), "f.yaml:1:4: a: " + list);
  // A bracket in quotes or in a comment closes nothing.
  EXPECT_EQ(parse_error("a: [\"]\"\n"), "f.yaml:1:4: a: " + list);
  EXPECT_EQ(parse_error("a: ['x', ']'  # ]\n"), "f.yaml:1:4: a: " + list);
}

TEST(Yaml, BracketsThatAreClosedAreTaken) {
  const auto first = [](const std::string& text) {
    return parse(text).at("a").items().at(0).text();
  };
  EXPECT_EQ(first("a: [\"[\", \"{\"]\n"), "[");
  EXPECT_EQ(first("a: [it's, 2]\n"), "it's");
  EXPECT_EQ(first("a: ['it''s]', 2]\n"), "it's]");
  EXPECT_EQ(first("a: [\"\\\"]\", 2]\n"), "\"]");
  EXPECT_EQ(first("a: [x#y, 2]\n"), "x#y");
  EXPECT_EQ(first("a: [x,  # one [\n  'y'\n  ]\n"), "x");
  EXPECT_EQ(parse("{\"a\":\"}\", \"b\" : ']'}").at("b").text(), "]");
  EXPECT_EQ(parse("{a: b:'c, d: 2}").at("d").text(), "2");
}

TEST(Yaml, SyntaxErrorsSayWhatToDo) {
  EXPECT_EQ(parse_error("a: ]\n"),
            "f.yaml:1:4: found a bracket that closes none; expected each of [ { with its ] }");
  EXPECT_EQ(parse_error("a: [1}\n"),
            "f.yaml:1:6: found a bracket that closes none; expected each of [ { with its ] }");
  EXPECT_EQ(parse_error("a: b: c\n"),
            "f.yaml:1:5: found a colon within a value; put the value in quotes");
  EXPECT_EQ(parse_error("a: \"b\" c\n"),
            "f.yaml:1:8: found text that continues no map; check the indentation, and the text "
            "after a quote");
  EXPECT_EQ(parse_error("a:\n  - b\n  c: d\n"),
            "f.yaml:3:3: found text that continues no map; check the indentation, and the text "
            "after a quote");
  EXPECT_EQ(parse_error("a: @b\n"),
            "f.yaml:1:4: found a character that begins no value; put the value in quotes");
  EXPECT_EQ(parse_error("a: b\n\tc: d\n"), "f.yaml:2:1: found a tab; indent with blanks");
  EXPECT_EQ(parse_error("  a: b\n c: d\n"),
            "f.yaml:2:2: found a line that does not continue the first document; check the "
            "indentation");
  EXPECT_EQ(parse_error("a: \"\\q\"\n"), "f.yaml:1:7: unknown escape character: q");
}

TEST(Yaml, DeepNestingAndLongFilesAreRefused) {
  expect_contains(parse_error(std::string(200, '[') + std::string(200, ']')),
                  "nested too deep; allowed: 32 levels");
  const TemporaryFolder folder;
  const auto path = folder.file("big.yaml", "a: " + std::string(kMaxYamlBytes, 'x'));
  expect_contains(error_of([&] { load_yaml(path); }), "longer than the 1048576 bytes");
}

TEST(Yaml, UnknownKeyNamesTheNearestRightOne) {
  const YamlNode root = parse("name: x\naray_rows: 4\n");
  const std::string message = error_of([&] {
    root.require_keys({"name", "array_rows", "array_cols"});
  });
  EXPECT_EQ(message,
            "f.yaml:2:1: unknown key 'aray_rows'; did you mean 'array_rows'? Allowed: name, "
            "array_rows, array_cols");
  const YamlNode other = parse("zzzzzzz: x\n");
  const std::string far = error_of([&] { other.require_keys({"name"}); });
  EXPECT_EQ(far, "f.yaml:1:1: unknown key 'zzzzzzz'. Allowed: name");
  expect_contains(error_of([&] { root.at("nam"); }), "is 'name' a misspelling?");
}

TEST(Yaml, WrongTypesAndRangesSayFoundAndAllowed) {
  const YamlNode root = parse("a: 17\nb: x\nc: [1]\nd: '1'\ne: 99999999999999999999\nf: 1.5\n");
  EXPECT_EQ(error_of([&] { root.at("a").integer(1, 16); }),
            "f.yaml:1:4: a: 17 is out of range; allowed: 1 to 16");
  expect_contains(error_of([&] { root.at("b").integer(1, 16); }),
                  "f.yaml:2:4: b: found 'x'; expected an integer from 1 to 16");
  expect_contains(error_of([&] { root.at("c").integer(1, 16); }), "found a list");
  expect_contains(error_of([&] { root.at("d").integer(1, 16); }),
                  "found '1' in quotes; expected an integer");
  expect_contains(error_of([&] { root.at("e").integer(1, 16); }), "is out of range");
  expect_contains(error_of([&] { root.at("f").integer(1, 16); }), "found '1.5'");
  expect_contains(error_of([&] { root.at("b").boolean(); }), "expected true or false");
  expect_contains(error_of([&] { root.at("b").number(); }), "expected a finite number");
  expect_contains(error_of([&] { root.at("a").items(); }), "expected a list");
  expect_contains(error_of([&] { root.at("c").find("x"); }), "expected a map");
  expect_contains(error_of([&] { root.at("c").require_keys({"x"}); }), "expected a map");
  expect_contains(error_of([&] { integers(root, "c", 2, 0, 9); }), "a list of 1; expected 2");
}

TEST(Yaml, ChoicesSuggestTheNearestName) {
  const YamlNode root = parse("mode: half_evn\n");
  constexpr std::string_view kNames[] = {"floor", "half_even"};
  EXPECT_EQ(error_of([&] { choice_or(root, "mode", kNames, 0); }),
            "f.yaml:1:7: mode: found 'half_evn'; did you mean 'half_even'? Allowed: floor, "
            "half_even");
  EXPECT_EQ(choice_or(root, "other", kNames, 1), 1u);
}

TEST(Yaml, QuotedTextReadsBack) {
  const std::string text = "a\"b\\c\n\x01 # : é";
  EXPECT_EQ(parse("x: " + yaml_quoted(text)).at("x").text(), text);
}

}  // namespace
}  // namespace qsim
