// SHA-1 against the examples of FIPS 180 and against the lengths where its padding changes.
#include "formats/files/sha1.h"

#include <span>

#include <gtest/gtest.h>

namespace qsim {

using namespace formats;
namespace {

std::string sha1_of(const std::string& text, std::size_t step) {
  Sha1 sha1;
  for (std::size_t at = 0; at < text.size(); at += step) {
    const std::string part = text.substr(at, step);
    sha1.add(std::as_bytes(std::span(part)));
  }
  return sha1.finish();
}

TEST(Sha1, AgreesWithTheStandardsExamples) {
  EXPECT_EQ(sha1_of("", 1), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  EXPECT_EQ(sha1_of("abc", 3), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(sha1_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 100),
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
  EXPECT_EQ(sha1_of(std::string(1'000'000, 'a'), 1 << 16),
            "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

// By `head -c N /dev/zero | tr '\0' a | sha1sum`.
TEST(Sha1, PadsEveryLengthAndTakesBytesInAnyParts) {
  const std::pair<std::size_t, const char*> kSums[] = {
      {55, "c1c8bbdc22796e28c0e15163d20899b65621d65a"},
      {56, "c2db330f6083854c99d4b5bfb6e8f29f201be699"},
      {63, "03f09f5b158a7a8cdad920bddc29b81c18a551f5"},
      {64, "0098ba824b5c16427bd7a1122a5a442a25ec644d"},
      {65, "11655326c708d70319be2610e8a57d9a5b959d3b"}};
  for (const auto& [count, sum] : kSums) {
    for (const std::size_t step : {1u, 7u, 64u}) {
      EXPECT_EQ(sha1_of(std::string(count, 'a'), step), sum) << count << " in " << step;
    }
  }
}

}  // namespace
}  // namespace qsim
