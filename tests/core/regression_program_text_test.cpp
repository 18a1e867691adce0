// Found by hostile files: a line of many fields, and a program of many segments, took time with the
// square of their number to read; a name with a control character of two bytes was printed raw.
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/limits.h"
#include "core/program_text.h"
#include "core/text_line.h"

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
