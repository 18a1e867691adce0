// Found by hostile files: a line of many fields, and a program of many segments, took time with the
// square of their number to read; a name with a control character of two bytes was printed raw.
#include <sstream>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/limits.h"
#include "core/base/text_line.h"
#include "core/machine/program_text.h"
#include "tests/core/sample_program.h"

namespace qsim {
namespace {

std::string refusal(const std::string& text) {
  try {
    parse_program(text, "p.txt");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(RegressionProgramText, ALineOfTooManyFieldsIsRefusedAtTheFirstOneTooMany) {
  std::string line = "arch";
  for (std::size_t i = 0; i < 200'000; ++i) line += " k" + std::to_string(i) + "=1";
  EXPECT_EQ(refusal("program p\n" + line + "\n"),
            "p.txt:2:" + std::to_string(line.find(" k127=") + 2) +
                ": found more than 128 words and fields; expected the end of the line");
}

// The sample program with `count` more lines before the line that begins with `before`, each made
// from its number.
template <typename LineOf>
std::string program_with(std::int64_t count, const std::string& before, LineOf line_of) {
  std::ostringstream out;
  print_program(sample::program(), out);
  std::string text = std::move(out).str();
  std::string more;
  for (std::int64_t i = 0; i < count; ++i) more += line_of(i);
  return text.insert(text.find("\n" + before) + 1, more);
}

TEST(RegressionProgramText, TooManySegmentsAreRefusedAtTheFirstOneTooMany) {
  const Program program = sample::program();
  const std::string line =
      "segment s address=" + std::to_string(program.writable_bytes) + " bytes=0\n";
  const std::string text =
      program_with(kMaxSegments + 1, "segment ", [&](std::int64_t) { return line; });
  EXPECT_TRUE(refusal(text).ends_with(":1: found more than 20000 segments; expected no more"))
      << refusal(text);
}

TEST(RegressionProgramText, TooManyLayersAreRefusedAtTheFirstOneTooMany) {
  std::ostringstream out;
  print_program(sample::program(), out);
  const std::string text = std::move(out).str();
  const std::size_t begin = text.find("\nlayer 0") + 8;
  const std::string rest = text.substr(begin, text.find('\n', begin) + 1 - begin);
  const auto layers = std::ssize(sample::program().layers);
  const std::string many = program_with(kMaxLayers, "segment ", [&](std::int64_t i) {
    return "layer " + std::to_string(layers + i) + rest;
  });
  EXPECT_TRUE(refusal(many).ends_with(":1: found more than 10000 layers; expected no more"))
      << refusal(many);
}

TEST(RegressionProgramText, ANameWithAC1ControlIsWrittenEscapedAndReadBack) {
  const std::string name =
      "a\xc2\x9b"
      "b\xff";
  EXPECT_EQ(quoted_word(name), "\"a\\xc2\\x9bb\\xff\"");
  const std::string source = "p.txt";
  EXPECT_EQ(TextLine("layer " + quoted_word(name), {&source, 1}).word_text(1), name);
}

}  // namespace
}  // namespace qsim
