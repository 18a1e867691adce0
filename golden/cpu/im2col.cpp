#include "golden/cpu/im2col.h"

#include <algorithm>
#include <cstring>

namespace qsim::golden {
namespace {

// The kernel columns that fall inside the picture, [first, last); the same for every kernel row.
struct Columns {
  std::int64_t x;  // picture column of kernel column 0; may be negative
  std::int64_t first;
  std::int64_t last;
};

// One kernel row of one output pixel; y is its picture row.
void gather_kernel_row(const PictureView& picture, std::int64_t n, std::int64_t y,
                       const Columns& columns, std::int64_t kernel_w, std::uint8_t* out) {
  const ImageShape& in = picture.shape;
  const auto bytes = [&](std::int64_t count) {
    return static_cast<std::size_t>(count * in.channels);
  };
  const bool outside = y < 0 || y >= in.height;
  const std::int64_t first = outside ? kernel_w : columns.first;
  const std::int64_t last = outside ? kernel_w : columns.last;
  if (first > 0) std::memset(out, picture.zero_point, bytes(first));
  if (last > first) {
    const std::int64_t index = ((n * in.height + y) * in.width + columns.x + first) * in.channels;
    std::memcpy(out + bytes(first), picture.data + index, bytes(last - first));
  }
  if (last < kernel_w) std::memset(out + bytes(last), picture.zero_point, bytes(kernel_w - last));
}

}  // namespace

void gather_rows(const PictureView& picture, const Window& window, const ImageShape& output,
                 std::int64_t first_pixel, std::int64_t count, std::uint8_t* rows,
                 std::size_t row_stride) {
  const auto kernel_row_bytes = static_cast<std::size_t>(window.kernel_w * picture.shape.channels);
  for (std::int64_t r = 0; r < count; ++r) {
    const std::int64_t pixel = first_pixel + r;
    const std::int64_t ox = pixel % output.width;
    const std::int64_t oy = pixel / output.width % output.height;
    const std::int64_t n = pixel / output.width / output.height;
    Columns columns{ox * window.stride_w - window.pad_left, 0, 0};
    columns.first = std::clamp<std::int64_t>(-columns.x, 0, window.kernel_w);
    columns.last =
        std::clamp<std::int64_t>(picture.shape.width - columns.x, columns.first, window.kernel_w);
    std::uint8_t* out = rows + static_cast<std::size_t>(r) * row_stride;
    for (std::int64_t ky = 0; ky < window.kernel_h; ++ky) {
      gather_kernel_row(picture, n, oy * window.stride_h - window.pad_top + ky, columns,
                        window.kernel_w, out);
      out += kernel_row_bytes;
    }
  }
}

}  // namespace qsim::golden
