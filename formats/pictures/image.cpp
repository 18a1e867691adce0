#include "formats/pictures/image.h"

#include <algorithm>

#include "core/base/checked_math.h"
#include "core/base/limits.h"
#include "formats/files/files.h"
#include "formats/pictures/image_decoders.h"

namespace qsim::formats {
namespace {

// Which pixels of one source axis make a pixel of the destination axis: indices first, first + 1,
// ... with integer weights that add up to `total`.
struct Taps {
  std::int64_t first = 0;
  std::vector<std::int64_t> weights;
};

struct AxisTaps {
  std::int64_t total = 1;
  std::vector<Taps> taps;  // one per destination pixel
};

// In units of 1 / to of a source pixel, destination pixel i covers [i * from, (i + 1) * from) and
// source pixel j covers [j * to, (j + 1) * to).
AxisTaps area_taps(std::int64_t from, std::int64_t to) {
  AxisTaps axis{from, {}};
  for (std::int64_t i = 0; i < to; ++i) {
    const std::int64_t begin = i * from;
    const std::int64_t end = begin + from;
    Taps taps{begin / to, {}};
    for (std::int64_t j = taps.first; j * to < end; ++j) {
      taps.weights.push_back(std::min(end, (j + 1) * to) - std::max(begin, j * to));
    }
    axis.taps.push_back(std::move(taps));
  }
  return axis;
}

// The centre of destination pixel i lies at ((2 i + 1) * from - to) / (2 to) source pixels from the
// centre of source pixel 0; beyond the outermost centres the edge pixel is repeated.
AxisTaps linear_taps(std::int64_t from, std::int64_t to) {
  AxisTaps axis{2 * to, {}};
  for (std::int64_t i = 0; i < to; ++i) {
    const std::int64_t at =
        std::clamp<std::int64_t>((2 * i + 1) * from - to, 0, (from - 1) * 2 * to);
    const std::int64_t fraction = at % (2 * to);
    Taps taps{at / (2 * to), {2 * to - fraction}};
    if (fraction > 0) taps.weights.push_back(fraction);
    axis.taps.push_back(std::move(taps));
  }
  return axis;
}

AxisTaps axis_taps(std::int64_t from, std::int64_t to) {
  return to <= from ? area_taps(from, to) : linear_taps(from, to);
}

// sums[x][channel] += weight * (row `y` resized to the destination's width).
void add_row(const Image& image, std::int64_t y, std::int64_t weight, const AxisTaps& columns,
             std::vector<std::int64_t>& sums) {
  const std::uint8_t* row = image.rgb.data() + y * image.width * 3;
  for (std::size_t x = 0; x < columns.taps.size(); ++x) {
    const std::uint8_t* pixel = row + columns.taps[x].first * 3;
    for (const std::int64_t column_weight : columns.taps[x].weights) {
      for (std::size_t c = 0; c < 3; ++c) sums[x * 3 + c] += weight * column_weight * pixel[c];
      pixel += 3;
    }
  }
}

}  // namespace

void check_image_size(std::int64_t height, std::int64_t width, const std::string& source) {
  if (height >= 1 && width >= 1 && checked_mul(height, width) <= kMaxImagePixels) return;
  throw_bad_input(source + ": a picture of " + std::to_string(height) + " x " +
                  std::to_string(width) + " pixels; allowed: 1 to " +
                  std::to_string(kMaxImagePixels) + " pixels");
}

Image read_image(const std::filesystem::path& path) {
  const auto require_picture = [&](std::span<const std::byte> start, std::int64_t) {
    if (is_png(start) || is_jpeg(start)) return;
    throw_bad_input(path.string() + ": neither a PNG nor a JPEG picture");
  };
  const std::vector<std::byte> bytes = read_binary_file(path, kMaxPictureBytes, require_picture);
  require_picture(bytes, std::ssize(bytes));
  return is_png(bytes) ? decode_png(bytes, path.string()) : decode_jpeg(bytes, path.string());
}

Image resize(const Image& image, std::int64_t height, std::int64_t width) {
  check_image_size(image.height, image.width, "picture to resize");
  check_image_size(height, width, "resized picture");
  const AxisTaps rows = axis_taps(image.height, height);
  const AxisTaps columns = axis_taps(image.width, width);
  const std::int64_t total = rows.total * columns.total;
  Image result{height, width, {}};
  result.rgb.reserve(static_cast<std::size_t>(height * width * 3));
  std::vector<std::int64_t> sums(static_cast<std::size_t>(width) * 3);
  for (const Taps& taps : rows.taps) {
    std::fill(sums.begin(), sums.end(), 0);
    for (std::size_t i = 0; i < taps.weights.size(); ++i) {
      add_row(image, taps.first + static_cast<std::int64_t>(i), taps.weights[i], columns, sums);
    }
    for (const std::int64_t sum : sums) {
      result.rgb.push_back(static_cast<std::uint8_t>((sum + total / 2) / total));
    }
  }
  return result;
}

}  // namespace qsim::formats
