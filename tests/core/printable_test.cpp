// Words from outside in the lines that are printed: nothing in them ends a line or steers a
// terminal, and long ones are cut.
#include "core/base/printable.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/random.h"

namespace qsim {
namespace {

TEST(Printable, TextThatALineCanShowStaysAsItIs) {
  for (const char* const text :
       {"", "conv1", "a b\\c'd\"", "na\xc3\xafve \xe7\x8c\xab \xf0\x9f\x90\x88", "\xd7\xa2"}) {
    EXPECT_EQ(printable(text), text);
    EXPECT_EQ(unprintable_at(text), std::string::npos);
  }
}

TEST(Printable, ControlBytesAndLineEndsAreEscaped) {
  EXPECT_EQ(printable("a\nb\r\t\x1b[31mc\x7f"), "a\\x0ab\\x0d\\x09\\x1b[31mc\\x7f");
  EXPECT_EQ(printable(std::string("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("a\xc2\x9b"
                      "b"),
            "a\\xc2\\x9bb");  // C1: CSI of one character
  EXPECT_EQ(printable("a\xe2\x80\xa8"
                      "b"),
            "a\\xe2\\x80\\xa8b");
  EXPECT_EQ(printable("a\xe2\x80\xae"
                      "b\xe2\x81\xa6"),
            "a\\xe2\\x80\\xaeb\\xe2\\x81\\xa6");
  for (const char* const mark : {"\xe2\x80\x8e", "\xe2\x80\x8f", "\xd8\x9c", "\xef\xbb\xbf"}) {
    EXPECT_EQ(unprintable_at(mark), 0u) << printable(mark);
  }
}

TEST(Printable, BytesThatAreNotUtf8AreEscaped) {
  EXPECT_EQ(printable("a\xff"
                      "b"),
            "a\\xffb");
  EXPECT_EQ(printable("\xc3"), "\\xc3");                    // cut short
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");           // a longer form of '/'
  EXPECT_EQ(printable("\xe0\x80\x8a"), "\\xe0\\x80\\x8a");  // of a line end
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_TRUE(is_utf8("a\n\xc3\xaf"));
  EXPECT_FALSE(is_utf8("a\xff"));
}

TEST(Printable, RandomBytesBecomeOneLineAndTheSameWhenDoneTwice) {
  Random random(20);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    while (random.chance(0.95)) text += static_cast<char>(random.uniform(0, 255));
    const std::string line = printable(text);
    EXPECT_EQ(unprintable_at(line), std::string::npos) << "seed 20, round " << round;
    EXPECT_EQ(printable(line), line) << "seed 20, round " << round;
  }
}

TEST(Printable, LineEndsStayInSeveralLinesAndNothingElseDoes) {
  EXPECT_EQ(printable_lines("a\nb\x1b\n"), "a\nb\\x1b\n");
}

TEST(Printable, ALongWordIsShownByItsStartAndItsLength) {
  const std::string word(kMaxEchoBytes, 'x');
  EXPECT_EQ(echoed(word), word);
  EXPECT_EQ(echoed(word + "y"), word + "... (201 bytes)");
  EXPECT_EQ(echoed(std::string(3'000'000, 'x')), word + "... (3000000 bytes)");
  EXPECT_EQ(echoed("a\nb"), "a\\x0ab");
}

TEST(Printable, AnErrorIsOneLineWhateverIsInItsWords) {
  const std::string word("a\nb\0c\x1b", 6);
  const Error error(ExitCode::kBadInput, "'" + word + "' is wrong; expected x");
  EXPECT_STREQ(error.what(), "'a\\x0ab\\x00c\\x1b' is wrong; expected x");
  const Error outer(ExitCode::kBadInput, std::string("f: ") + error.what());
  EXPECT_STREQ(outer.what(), "f: 'a\\x0ab\\x00c\\x1b' is wrong; expected x");
}

TEST(Printable, ALongErrorKeepsItsPlaceAndItsRemedy) {
  const std::string name(9'000'000, '\x01');
  const std::string what =
      Error(ExitCode::kBadInput, "f.onnx: '" + name + "' is wrong; expected x").what();
  EXPECT_LE(what.size(), kMaxMessageBytes);
  EXPECT_TRUE(what.starts_with("f.onnx: '\\x01\\x01")) << what;
  EXPECT_TRUE(what.ends_with("\\x01' is wrong; expected x")) << what;
  EXPECT_NE(what.find(" bytes left out) ... "), std::string::npos) << what;
}

TEST(Printable, LinesThatFollowAnErrorAreEscapedButForTheirEnds) {
  const Error error(ExitCode::kBadInput, "failed:", "one\n\x1b[2Jtwo\n");
  EXPECT_STREQ(error.what(), "failed:");
  EXPECT_EQ(error.details(), "one\n\\x1b[2Jtwo\n");
}

}  // namespace
}  // namespace qsim
