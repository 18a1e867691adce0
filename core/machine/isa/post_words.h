// Which words of the accumulator a POST's psum tile reaches.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/machine/isa/commands.h"

namespace qsim {

// Words from the tile's first psum to the last that a window covers, both included; in_rows *
// in_cols where the windows cover the whole tile.
constexpr std::int64_t psum_words(const Post& post) {
  const auto last = [](std::int64_t outputs, std::int64_t kernel, std::int64_t stride,
                       std::int64_t origin, std::int64_t size) {
    return std::min(size, origin + (outputs - 1) * stride + kernel) - 1;
  };
  const std::int64_t row =
      last(post.out_rows, post.pool_h, post.pool_stride_h, post.origin_row, post.in_rows);
  const std::int64_t col =
      last(post.out_cols, post.pool_w, post.pool_stride_w, post.origin_col, post.in_cols);
  return row < 0 || col < 0 ? 0 : row * post.in_cols + col + 1;
}

}  // namespace qsim
