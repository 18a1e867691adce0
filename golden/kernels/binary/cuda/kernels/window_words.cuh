// Where the window of an output pixel is in the input, and which of its words are inside the
// picture. Words outside are taken as 0, so that they add nothing to popcount(a & b).
#pragma once

#include <cstdint>

#include "golden/kernels/binary/cuda/conv_args.h"

namespace qsim::golden::cuda {

template <typename T>
__device__ inline const T* table(const std::uint8_t* tables, std::int64_t offset) {
  return reinterpret_cast<const T*>(tables + offset);
}

// A window of the input.
struct WindowPlace {
  std::int32_t pixel;    // its first pixel of all pictures', which may be outside its own
  std::int32_t windows;  // its class, by what is inside
};

// The window of output pixel `row`, at position `position` of its max-pool. Rows beyond the last
// output pixel take the first one's window; their results are not written. `common`: the common
// tables.
__device__ inline WindowPlace window_place(const BinaryConvArgs& args, const std::uint8_t* common,
                                           std::uint32_t row, std::int32_t position) {
  if (row >= args.output_rows) row = 0;
  const std::uint32_t line = row / args.output_width;
  const std::uint32_t batch = line / args.output_height;
  auto y = static_cast<std::int32_t>(line - batch * args.output_height);
  auto x = static_cast<std::int32_t>(row - line * args.output_width);
  if (args.has_pool != 0) {
    const std::int32_t below = position / args.pool_size;
    y = y * args.pool_stride + below;
    x = x * args.pool_stride + position - below * args.pool_size;
  }
  const std::int32_t windows =
      table<std::int32_t>(common, args.rows)[y] + table<std::int32_t>(common, args.columns)[x];
  const std::int32_t first_line =
      static_cast<std::int32_t>(batch) * args.height + y * args.stride_h - args.pad_top;
  return {first_line * args.width + x * args.stride_w - args.pad_left, windows};
}

__device__ inline const std::uint8_t* first_word(const BinaryConvArgs& args, WindowPlace place,
                                                 std::int32_t base) {
  return args.input + static_cast<std::int64_t>(place.pixel) * args.pixel_bytes +
         base * args.base_bytes;
}

// 32 bits that say of words kw / 32 * 32 and on whether they are inside.
__device__ inline std::uint32_t inside_mask(const BinaryConvArgs& args, const std::uint8_t* common,
                                            WindowPlace place, std::int32_t kw) {
  return table<std::uint32_t>(common, args.masks)[place.windows * args.mask_words + kw / 32];
}

}  // namespace qsim::golden::cuda
