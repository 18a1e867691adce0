#include "tests/golden/cuda/ofmap_difference.h"

#include <algorithm>
#include <cstring>

namespace qsim::golden_test {
namespace {

int element(std::byte byte, DType dtype) {
  const auto value = std::to_integer<std::uint8_t>(byte);
  return dtype == DType::kUint8 ? value : static_cast<std::int8_t>(value);
}

}  // namespace

OfmapDifference compare_ofmaps(std::span<const std::byte> got, std::span<const std::byte> expected,
                               DType dtype) {
  QSIM_CHECK(got.size() == expected.size(), "ofmaps of different lengths");
  OfmapDifference difference;
  if (std::memcmp(got.data(), expected.data(), got.size()) == 0) return difference;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i] == expected[i]) continue;
    if (difference.bytes++ > 0) continue;
    difference.first = static_cast<std::int64_t>(i);
    difference.got = element(got[i], dtype);
    difference.expected = element(expected[i], dtype);
  }
  return difference;
}

std::string difference_text(const OfmapDifference& difference, const ImageShape& shape) {
  const std::int64_t c = difference.first % shape.channels;
  const std::int64_t pixel = difference.first / shape.channels;
  const std::int64_t x = pixel % shape.width;
  const std::int64_t y = pixel / shape.width % shape.height;
  const std::int64_t n = pixel / shape.width / shape.height;
  return shape_text({n, y, x, c}) + ": got " + std::to_string(difference.got) + ", expected " +
         std::to_string(difference.expected) + " (" + std::to_string(difference.bytes) + " of " +
         std::to_string(element_count(shape.nhwc())) + " bytes differ)";
}

bool is_constant(std::span<const std::byte> ofmap) {
  return std::all_of(ofmap.begin(), ofmap.end(),
                     [&](std::byte byte) { return byte == ofmap.front(); });
}

}  // namespace qsim::golden_test
