// Found by the fuzz target `image`: a PNG of 56 bytes took 1.8 GB, the length that a chunk of text
// claims to have; and the memory for a row of 2^31 pixels was taken before the size was checked.
#include <string>

#include <sys/resource.h>

#include "files/image.h"
#include "tests/files/files_test_support.h"

namespace qsim {
namespace {

using std::string_literals::operator""s;

const std::string kSignature = "\x89PNG\r\n\x1a\n"s;
constexpr std::int64_t kMostKib = 64 * 1024;

std::int64_t peak_kib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST(RegressionPngMemory, AChunkLongerThanTheFileIsRefusedBeforeItsMemoryIsTaken) {
  const TemporaryFolder folder;
  const auto path = folder.file("picture.png", kSignature + "\0\0\0\x0dIHDR"s +
                                                   "\0\0\0\1\0\1\0\0\4\0\0\0\0\xf8\x78\xa5\x6f"s +
                                                   "\x6f\x1a\x0a\0zTXt\0\0\x0d\x44\x52\x49\x48"s);
  expect_contains(error_of([&] { read_image(path); }),
                  "the file is truncated: a chunk of 1863977472 bytes where 7 are left");
}

TEST(RegressionPngMemory, ARowOfTwoBillionPixelsIsRefusedBeforeItsMemoryIsTaken) {
  const TemporaryFolder folder;
  const auto path = folder.file(
      "picture.png", kSignature + "\0\0\0\x0dIHDR\x7f\xff\xff\xff\0\0\0\1\x08\0\0\0\0"s +
                         "\x85\x5d\x6c\x01\0\0\0\x09IDAT\x78\x9c\x63\0\0\0\1\0\1\x5e\xff\x7d\xf9"s);
  const std::int64_t before = peak_kib();
  expect_contains(error_of([&] { read_image(path); }), "a picture of 1 x 2147483647 pixels");
  EXPECT_LT(peak_kib() - before, kMostKib);
}

}  // namespace
}  // namespace qsim
