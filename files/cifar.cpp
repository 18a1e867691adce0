#include "files/cifar.h"

#include <cstddef>

#include "core/error.h"
#include "files/files.h"

namespace qsim {
namespace {

constexpr std::int64_t kSide = 32;
constexpr std::int64_t kPlaneBytes = kSide * kSide;
constexpr std::int64_t kRecordBytes = 1 + 3 * kPlaneBytes;
constexpr int kClasses = 10;

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

CifarRecord read_cifar(const std::filesystem::path& path, std::int64_t index) {
  const std::int64_t count = cifar_count(path);
  if (index < 0 || index >= count) {
    throw_bad_input(path.string() + ": index " + std::to_string(index) + "; the batch has " +
                    std::to_string(count) + " pictures, allowed: 0 to " +
                    std::to_string(count - 1));
  }
  const std::vector<std::byte> bytes = read_file_range(path, index * kRecordBytes, kRecordBytes);
  CifarRecord record;
  record.label = std::to_integer<int>(bytes[0]);
  if (record.label >= kClasses) {
    throw_bad_input(path.string() + ": picture " + std::to_string(index) + " has label " +
                    std::to_string(record.label) + "; allowed: 0 to 9. Not a CIFAR-10 batch?");
  }
  record.image = {kSide, kSide, {}};
  for (std::int64_t pixel = 0; pixel < kPlaneBytes; ++pixel) {
    for (std::int64_t plane = 0; plane < 3; ++plane) {
      const auto at = static_cast<std::size_t>(1 + plane * kPlaneBytes + pixel);
      record.image.rgb.push_back(std::to_integer<std::uint8_t>(bytes[at]));
    }
  }
  return record;
}

}  // namespace qsim
