// PNG and JPEG pictures: what is read has as many bytes as its size says, and can be resized.
#include <algorithm>

#include "formats/pictures/image.h"
#include "tests/fuzz/fuzz_support.h"

namespace qsim::fuzz {

using namespace formats;
namespace {

constexpr std::int64_t kMostPixels = 1 << 16;

// Height x width as the header says. 0 for a file that is not a picture.
std::int64_t pixels_of(Bytes bytes) {
  const auto number = [&](std::size_t at, std::size_t count) {
    std::int64_t value = 0;
    for (const std::uint8_t byte : bytes.subspan(at, count)) value = value << 8 | byte;
    return value;
  };
  if (bytes.size() >= 24 && bytes[0] == 0x89) {
    const std::int64_t width = number(16, 4);
    const std::int64_t height = number(20, 4);
    return width > kMaxImagePixels ? width : width * height;
  }
  std::int64_t most = 0;
  for (std::size_t i = 0; i + 9 <= bytes.size(); ++i) {  // a JPEG frame header: FF C0..CF
    if (bytes[i] != 0xFF || bytes[i + 1] < 0xC0 || bytes[i + 1] > 0xCF) continue;
    most = std::max(most, number(i + 5, 2) * number(i + 7, 2));
  }
  return most;
}

}  // namespace

bool fuzz_one(Bytes input) {
  static Folder folder;
  // A small file may hold the 64 million pixels that are allowed, and a second of work; more than
  // those are refused at once.
  const std::int64_t pixels = pixels_of(input);
  if (pixels > kMostPixels && pixels <= kMaxImagePixels) return false;
  const auto path = folder.file("picture", text_of(input));
  Image image;
  if (!accepted([&] { image = read_image(path); })) return false;
  require(image.height >= 1 && image.width >= 1 &&
              image.rgb.size() == static_cast<std::size_t>(image.height * image.width * 3),
          "a picture whose bytes are not height x width x 3");
  for (const std::int64_t side : {1, 7}) {
    const Image small = resize(image, side, 8 - side);
    require(small.rgb.size() == static_cast<std::size_t>(side * (8 - side) * 3),
            "a resized picture of another size");
  }
  require(resize(image, image.height, image.width).rgb == image.rgb,
          "resizing to the same size changes the picture");
  return true;
}

}  // namespace qsim::fuzz
