// Pictures as 8-bit RGB: PNG and JPEG files, and resizing. No colour management: gamma and ICC
// profiles are ignored, an alpha channel is dropped, EXIF orientation is not applied.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "core/base/limits.h"

namespace qsim::formats {

struct Image {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::vector<std::uint8_t> rgb;  // [height][width][3]
};

// Reads a PNG (any bit depth, grey, palette or colour; 16-bit samples keep their high byte) or a
// JPEG (grey or colour) by content, not by name. Throws Error naming the file and the reason for
// anything else, a truncated or corrupt file, or more than kMaxImagePixels (core/base/limits.h).
Image read_image(const std::filesystem::path& path);

// Resized to height x width, each axis on its own: the average over the covered area where it
// shrinks, linear interpolation between pixel centres where it grows. Exact arithmetic, rounded
// half up.
Image resize(const Image& image, std::int64_t height, std::int64_t width);

}  // namespace qsim::formats
