// Found by the fuzz target `image`: a PNG of 56 bytes took 1.8 GB, the length that a chunk of text
// claims to have; and the memory for a row of 2^31 pixels was taken before the size was checked.
// Found by reading: the texts of a small file were unpacked into gigabytes.
#include <string>
#include <vector>

#include <sys/resource.h>
#include <zlib.h>

#include "formats/pictures/image.h"
#include "tests/files/files_test_support.h"

namespace qsim {

using namespace formats;
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

void add_chunk(std::string& file, const std::string& type, const std::string& data) {
  const auto add_number = [&](std::uint64_t number) {
    for (int shift = 24; shift >= 0; shift -= 8) file += static_cast<char>(number >> shift & 0xff);
  };
  const std::string summed = type + data;
  add_number(data.size());
  file += summed;
  add_number(
      crc32(0, reinterpret_cast<const Bytef*>(summed.data()), static_cast<uInt>(summed.size())));
}

std::string deflated(const std::string& text) {
  std::string packed(compressBound(text.size()), '\0');
  uLongf size = packed.size();
  compress(reinterpret_cast<Bytef*>(packed.data()), &size,
           reinterpret_cast<const Bytef*>(text.data()), text.size());
  packed.resize(size);
  return packed;
}

std::string picture_of(const std::string& compressed) {
  std::string file = kSignature;
  add_chunk(file, "IHDR", "\0\0\0\1\0\0\0\1\x08\0\0\0\0"s);
  add_chunk(file, "IDAT", compressed);
  add_chunk(file, "IEND", "");
  return file;
}

// One pixel, and 100 MB of zeros after it.
TEST(RegressionPngMemory, WhatFollowsTheLastRowIsNotUnpacked) {
  const TemporaryFolder folder;
  const std::string rows = deflated("\0\x7b"s + std::string(100'000'000, '\0'));
  ASSERT_GT(rows.size(), 90'000U);
  expect_contains(error_of([&] { read_image(folder.file("bomb.png", picture_of(rows))); }),
                  " compressed bytes are left at its last row; at most 65552 are allowed");
  const std::string few = deflated("\0\x7b"s + std::string(1'000'000, '\0'));
  EXPECT_EQ(read_image(folder.file("few.png", picture_of(few))).rgb,
            (std::vector<std::uint8_t>{0x7b, 0x7b, 0x7b}));
}

// 40 texts of 7 MB each, in a file of 300 KB.
TEST(RegressionPngMemory, ChunksOfTextAreNotUnpacked) {
  std::string file = kSignature;
  add_chunk(file, "IHDR", "\0\0\0\1\0\0\0\1\x08\0\0\0\0"s);
  const std::string text = deflated(std::string(7'000'000, 'x'));
  for (int i = 0; i < 40; ++i) add_chunk(file, "zTXt", "Comment\0\0"s + text);
  add_chunk(file, "IDAT", deflated("\0\x7b"s));
  add_chunk(file, "IEND", "");
  const TemporaryFolder folder;
  const auto path = folder.file("picture.png", file);
  const std::int64_t before = peak_kib();
  EXPECT_EQ(read_image(path).rgb, (std::vector<std::uint8_t>{123, 123, 123}));
  EXPECT_LT(peak_kib() - before, kMostKib);
}

}  // namespace
}  // namespace qsim
