// CIFAR-10 binary batches.
#include "formats/pictures/cifar.h"

#include <cstdlib>

#include "tests/files/files_test_support.h"

namespace qsim {

using namespace formats;
namespace {

std::string record(char label, int start) {
  std::string bytes(1, label);
  for (int i = 0; i < 3072; ++i) bytes += static_cast<char>((start + i * 7) & 0xff);
  return bytes;
}

TEST(Cifar, RecordBecomesAnInterleavedPicture) {
  const TemporaryFolder folder;
  const auto path = folder.file("b.bin", record(3, 0) + record(9, 5));
  EXPECT_EQ(cifar_count(path), 2);
  EXPECT_EQ(read_cifar(path, 0).label, 3);
  const CifarRecord last = read_cifar(path, 1);
  EXPECT_EQ(last.label, 9);
  ASSERT_EQ(last.image.rgb.size(), 3072u);
  for (std::size_t pixel = 0; pixel < 1024; ++pixel) {
    for (std::size_t plane = 0; plane < 3; ++plane) {
      const auto expected = static_cast<std::uint8_t>(5 + (plane * 1024 + pixel) * 7);
      ASSERT_EQ(last.image.rgb[pixel * 3 + plane], expected);
    }
  }
}

TEST(Cifar, WrongLengthIndexOrLabelIsRefused) {
  const TemporaryFolder folder;
  const auto cut = folder.file("cut.bin", record(1, 0).substr(0, 3000));
  expect_contains(error_of([&] { cifar_count(cut); }), "multiple of 3073");
  expect_contains(error_of([&] { cifar_count(folder.file("e.bin", "")); }), "0 bytes");
  const auto path = folder.file("b.bin", record(1, 0) + record(77, 0));
  expect_contains(error_of([&] { read_cifar(path, 2); }), "the batch has 2 pictures");
  expect_contains(error_of([&] { read_cifar(path, -1); }), "allowed: 0 to 1");
  expect_contains(error_of([&] { read_cifar(path, 1); }), "label 77");
}

TEST(Cifar, RealBatchHasAllTenClasses) {
  const char* variable = std::getenv("QSIM_DATA");
  const std::filesystem::path data = variable != nullptr ? variable : "../shared/data";
  const auto path = data / "cifar10" / "test_batch.bin";
  if (!std::filesystem::exists(path)) {
    const char* required = std::getenv("QSIM_REQUIRE");
    if (required != nullptr && std::string(required).find("data") != std::string::npos) {
      FAIL() << "required: " << path;
    }
    GTEST_SKIP() << "skipped: no data";
  }
  EXPECT_EQ(cifar_count(path) % 10, 0);
  std::array<int, 10> seen{};
  for (std::int64_t i = 0; i < 200; ++i) {
    const auto label = static_cast<std::size_t>(read_cifar(path, i).label);
    ++seen.at(label);
  }
  for (const int count : seen) EXPECT_GT(count, 0);
}

}  // namespace
}  // namespace qsim
