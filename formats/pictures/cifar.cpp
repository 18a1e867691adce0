#include "formats/pictures/cifar.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include "core/base/error.h"
#include "formats/files/files.h"

namespace qsim::formats {
namespace {

constexpr std::int64_t kSide = 32;
constexpr std::int64_t kPlaneBytes = kSide * kSide;
constexpr std::int64_t kRecordBytes = 1 + 3 * kPlaneBytes;
constexpr int kClasses = 10;
constexpr std::int64_t kRecordsAtOnce = 256;

int checked_label(std::byte byte, const std::filesystem::path& path, std::int64_t index) {
  const int label = std::to_integer<int>(byte);
  if (label < kClasses) return label;
  throw_bad_input(path.string() + ": picture " + std::to_string(index) + " has label " +
                  std::to_string(label) + "; allowed: 0 to 9. Not a CIFAR-10 batch?");
}

}  // namespace

std::int64_t cifar_count(const std::filesystem::path& path) {
  const std::int64_t bytes = file_bytes(path);
  if (bytes == 0 || bytes % kRecordBytes != 0) {
    throw_bad_input(path.string() + ": " + std::to_string(bytes) +
                    " bytes; a CIFAR-10 binary batch is a multiple of " +
                    std::to_string(kRecordBytes) + " (truncated, or another kind of file?)");
  }
  return bytes / kRecordBytes;
}

std::vector<int> cifar_labels(const std::filesystem::path& path) {
  const std::int64_t count = cifar_count(path);
  std::vector<int> labels;
  std::vector<std::byte> records(static_cast<std::size_t>(kRecordsAtOnce * kRecordBytes));
  for (std::int64_t first = 0; first < count; first += kRecordsAtOnce) {
    const auto bytes =
        static_cast<std::size_t>(std::min(kRecordsAtOnce, count - first) * kRecordBytes);
    read_file_range(path, first * kRecordBytes, std::span(records).first(bytes));
    for (std::size_t at = 0; at < bytes; at += static_cast<std::size_t>(kRecordBytes)) {
      labels.push_back(checked_label(records[at], path, std::ssize(labels)));
    }
  }
  return labels;
}

CifarRecord read_cifar(const std::filesystem::path& path, std::int64_t index) {
  const std::int64_t count = cifar_count(path);
  if (index < 0 || index >= count) {
    throw_bad_input(path.string() + ": index " + std::to_string(index) + "; the batch has " +
                    std::to_string(count) + " pictures, allowed: 0 to " +
                    std::to_string(count - 1));
  }
  const std::vector<std::byte> bytes = read_file_range(path, index * kRecordBytes, kRecordBytes);
  CifarRecord record;
  record.label = checked_label(bytes[0], path, index);
  record.image = {kSide, kSide, std::vector<std::uint8_t>(3 * kPlaneBytes)};
  for (std::size_t plane = 0; plane < 3; ++plane) {
    const std::byte* from = bytes.data() + 1 + plane * kPlaneBytes;
    for (std::size_t pixel = 0; pixel < kPlaneBytes; ++pixel) {
      record.image.rgb[3 * pixel + plane] = std::to_integer<std::uint8_t>(from[pixel]);
    }
  }
  return record;
}

}  // namespace qsim::formats
