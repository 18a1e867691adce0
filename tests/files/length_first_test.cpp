// A file whose length is wrong is refused by its length, before it is read: what is counted is the
// bytes that this process reads.
#include "core/base/limits.h"
#include "formats/pictures/image.h"
#include "formats/text/yaml.h"
#include "formats/traces/npy.h"
#include "tests/files/bytes_read.h"
#include "tests/files/files_test_support.h"

namespace qsim {

using namespace formats;
namespace {

// A start and then zeros, of which the disk has none.
std::filesystem::path sparse(const TemporaryFolder& folder, const std::string& name,
                             std::string_view start, std::int64_t bytes) {
  const std::filesystem::path path = folder.file(name, start);
  std::filesystem::resize_file(path, static_cast<std::uintmax_t>(bytes));
  return path;
}

// Expects `read` to fail with `message`, and to read a start at most.
template <typename Read>
void expect_refused(const Read& read, const std::string& message) {
  const std::int64_t before = bytes_read();
  const std::string found = error_of(read);
  EXPECT_LT(bytes_read() - before, std::int64_t{1} << 20) << found;
  expect_contains(found, message);
}

TEST(LengthFirst, AFileLongerThanAllowedIsNotRead) {
  const TemporaryFolder folder;
  const auto npy = sparse(folder, "a.npy", npy_array_header("|i1", {8, 8}), kMaxFileBytes + 1);
  expect_refused([&] { read_npy(npy); }, "is longer than the 4294967296 bytes that are allowed");
  const auto picture = sparse(folder, "a.png", "\x89PNG\r\n\x1a\n", kMaxPictureBytes + 1);
  expect_refused([&] { read_image(picture); }, "is longer than the 268435456 bytes");
  const auto yaml = sparse(folder, "a.yaml", "name: x\n", kMaxYamlBytes + (1 << 22));
  expect_refused([&] { load_yaml(yaml); }, "is longer than the 1048576 bytes");
}

TEST(LengthFirst, AnArrayIsJudgedByItsHeader) {
  const TemporaryFolder folder;
  const std::int64_t bytes = std::int64_t{3} << 28;
  const auto npy = sparse(folder, "a.npy", npy_array_header("|i1", {8, 8}), bytes);
  expect_refused([&] { read_npy(npy); }, "a.npy: too long: 805306240 bytes of data; int8 [8, 8]");
  const NpyType types[] = {kNpyInt8};
  expect_refused([&] { read_npy_array(npy, types); }, "too long: 805306240 bytes of data");
  const auto cut = sparse(folder, "b.npy", npy_array_header("<f4", {1 << 28, 1}), bytes);
  expect_refused([&] { read_npy(cut); }, "truncated: 805306240 bytes of data");
  const auto other = sparse(folder, "c.npy", npy_array_header("<f8", {8, 8}), bytes);
  expect_refused([&] { read_npy(other); }, "dtype float64");
  const auto none = sparse(folder, "d.npy", "", bytes);
  expect_refused([&] { read_npy(none); }, "not a .npy file");
}

TEST(LengthFirst, WhatIsNoPictureIsNotRead) {
  const TemporaryFolder folder;
  const auto path = sparse(folder, "a.png", "GIF89a", kMaxPictureBytes);
  expect_refused([&] { read_image(path); }, "neither a PNG nor a JPEG picture");
  const auto pointer =
      sparse(folder, "b.png", "version https://git-lfs.github.com/spec/v1\n", kMaxPictureBytes);
  expect_refused([&] { read_image(pointer); }, "is a git-LFS pointer");
}

}  // namespace
}  // namespace qsim
