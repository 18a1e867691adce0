// The decoders of the two picture formats that read_image (formats/pictures/image.h) reads; only
// read_image calls them.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "formats/pictures/image.h"

namespace qsim::formats {

bool is_png(std::span<const std::byte> bytes);
bool is_jpeg(std::span<const std::byte> bytes);

// Both throw Error with `source` and the library's reason.
Image decode_png(std::span<const std::byte> bytes, const std::string& source);
Image decode_jpeg(std::span<const std::byte> bytes, const std::string& source);

// Throws Error for an empty picture or one of more than kMaxImagePixels.
void check_image_size(std::int64_t height, std::int64_t width, const std::string& source);

}  // namespace qsim::formats
