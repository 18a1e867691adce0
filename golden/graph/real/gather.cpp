#include "golden/graph/real/gather.h"

#include <algorithm>

#include "golden/graph/real/product_kernels.h"
#include "golden/graph/real/real_arithmetic.h"

namespace qsim::golden {
namespace {

// The products begin..end - 1 of a kernel row's kernel_w * channels.
struct RowPart {
  std::int64_t begin;
  std::int64_t end;
};

// Kernel columns that fall inside the picture, [first, last).
struct Columns {
  std::int64_t first;
  std::int64_t last;
};

Columns columns_inside(const Window& w, std::int64_t width, std::int64_t ox) {
  const std::int64_t left = window_col(w, ox, 0);
  // How many kernel columns lie before picture column `end`.
  const auto before = [&](std::int64_t end) {
    if (end <= left) return std::int64_t{0};
    return std::min((end - left - 1) / w.dilation_w + 1, w.kernel_w);
  };
  const std::int64_t first = before(0);
  return {first, std::max(first, before(width))};
}

// A part of a kernel row whose columns touch: one run of memory between zeros.
void gather_run(const GroupView& view, const float* column_0, const Columns& columns,
                const RowPart& part, float* out) {
  const std::int64_t first =
      std::clamp(columns.first * view.channels, part.begin, part.end) - part.begin;
  const std::int64_t last =
      std::clamp(columns.last * view.channels, part.begin, part.end) - part.begin;
  std::fill_n(out, first, 0.0F);
  if (last > first) std::copy_n(column_0 + part.begin + first, last - first, out + first);
  std::fill(out + last, out + (part.end - part.begin), 0.0F);
}

void gather_columns(const GroupView& view, const float* column_0, std::int64_t column_pitch,
                    const Columns& columns, const RowPart& part, float* out) {
  for (std::int64_t at = part.begin; at < part.end;) {
    const std::int64_t kx = at / view.channels;
    const std::int64_t ci = at % view.channels;
    const std::int64_t length = std::min(view.channels - ci, part.end - at);
    if (kx >= columns.first && kx < columns.last) {
      std::copy_n(column_0 + kx * column_pitch + ci, length, out);
    } else {
      std::fill_n(out, length, 0.0F);
    }
    at += length;
    out += length;
  }
}

}  // namespace

void gather_chunk(const GroupView& view, const Window& window, const ImageShape& output,
                  std::int64_t first_pixel, std::int64_t count, std::int64_t begin,
                  std::int64_t end, float* rows) {
  const ImageShape& in = view.shape;
  const std::int64_t row_products = window.kernel_w * view.channels;
  const std::int64_t column_pitch = window.dilation_w * in.channels;
  const bool touches = window.dilation_w == 1 && view.channels == in.channels;
  for (std::int64_t r = 0; r < count; ++r, rows += kRowPitch) {
    const std::int64_t pixel = first_pixel + r;
    const std::int64_t ox = pixel % output.width;
    const std::int64_t oy = pixel / output.width % output.height;
    const std::int64_t n = pixel / output.width / output.height;
    const Columns columns = columns_inside(window, in.width, ox);
    float* out = rows;
    for (std::int64_t ky = begin / row_products; ky * row_products < end; ++ky) {
      const std::int64_t start = ky * row_products;
      const RowPart part = {std::max(begin, start) - start,
                            std::min(end, start + row_products) - start};
      const std::int64_t iy = window_row(window, oy, ky);
      const bool inside = iy >= 0 && iy < in.height;
      const float* column_0 = view.data +
                              (inside ? pixel_index(in, n, iy, window_col(window, ox, 0)) : 0) +
                              view.first_channel;
      const Columns read = inside ? columns : Columns{0, 0};
      touches ? gather_run(view, column_0, read, part, out)
              : gather_columns(view, column_0, column_pitch, read, part, out);
      out += part.end - part.begin;
    }
  }
}

}  // namespace qsim::golden
