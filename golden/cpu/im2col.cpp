#include "golden/cpu/im2col.h"

#include <algorithm>

namespace qsim::golden {
namespace {

// The kernel columns that fall inside the picture, [first, last); the same for every kernel row.
struct Columns {
  std::int64_t x;  // picture column of kernel column 0; may be negative
  std::int64_t first;
  std::int64_t last;
};

// One kernel row of one output pixel; y is its picture row.
template <typename Element>
void gather_kernel_row(const PictureView& picture, std::int64_t n, std::int64_t y,
                       const Columns& columns, std::int64_t kernel_w, Element* out) {
  const ImageShape& in = picture.shape;
  const bool outside = y < 0 || y >= in.height;
  const std::int64_t first = outside ? kernel_w : columns.first;
  const std::int64_t last = outside ? kernel_w : columns.last;
  const Element zero_point = picture.zero_point;
  if (first > 0) std::fill_n(out, first * in.channels, zero_point);
  if (last > first) {
    const std::int64_t index = ((n * in.height + y) * in.width + columns.x + first) * in.channels;
    std::copy_n(picture.data + index, (last - first) * in.channels, out + first * in.channels);
  }
  if (last < kernel_w) {
    std::fill_n(out + last * in.channels, (kernel_w - last) * in.channels, zero_point);
  }
}

}  // namespace

template <typename Element>
void gather_rows(const PictureView& picture, const Window& window, const ImageShape& output,
                 std::int64_t first_pixel, std::int64_t count, Element* rows,
                 std::size_t row_stride) {
  const auto kernel_row_elems = static_cast<std::size_t>(window.kernel_w * picture.shape.channels);
  for (std::int64_t r = 0; r < count; ++r) {
    const std::int64_t pixel = first_pixel + r;
    const std::int64_t ox = pixel % output.width;
    const std::int64_t oy = pixel / output.width % output.height;
    const std::int64_t n = pixel / output.width / output.height;
    Columns columns{ox * window.stride_w - window.pad_left, 0, 0};
    columns.first = std::clamp<std::int64_t>(-columns.x, 0, window.kernel_w);
    columns.last =
        std::clamp<std::int64_t>(picture.shape.width - columns.x, columns.first, window.kernel_w);
    Element* out = rows + static_cast<std::size_t>(r) * row_stride;
    for (std::int64_t ky = 0; ky < window.kernel_h; ++ky) {
      gather_kernel_row(picture, n, oy * window.stride_h - window.pad_top + ky, columns,
                        window.kernel_w, out);
      out += kernel_row_elems;
    }
  }
}

template void gather_rows(const PictureView&, const Window&, const ImageShape&, std::int64_t,
                          std::int64_t, std::uint8_t*, std::size_t);
template void gather_rows(const PictureView&, const Window&, const ImageShape&, std::int64_t,
                          std::int64_t, std::uint16_t*, std::size_t);

}  // namespace qsim::golden
