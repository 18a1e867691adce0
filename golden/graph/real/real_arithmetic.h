// The arithmetic that plain loops and vector paths share: chunk sums, the NaN of results, the
// positions of windows. docs/reference/golden.md defines it.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/base/tensor.h"
#include "core/network/operations.h"
#include "golden/common/float_formats.h"
#include "golden/common/sizes.h"
#include "golden/graph/real/real_executor.h"

namespace qsim::golden {

// A NaN that a layer computes has the bits 0x7FC00000: processors differ in the sign and the
// payload of theirs.
inline float canonical_nan(float value) { return value == value ? value : float_of(kFp32Nan); }

// A sum of products in its order: fused multiply-adds in chunks of kChunk, each from +0; the
// chunk sums are added in order to `start`.
class ChunkedSum {
 public:
  explicit ChunkedSum(float start) : total_(start) {}

  void add(float x, float weight) {
    chunk_ = std::fma(x, weight, chunk_);
    if (++count_ == kChunk) close();
  }
  float finish() {
    if (count_ > 0) close();
    return total_;
  }

 private:
  void close() {
    total_ += chunk_;
    chunk_ = 0;
    count_ = 0;
  }

  float total_;
  float chunk_ = 0;
  std::int64_t count_ = 0;
};

// The sizes of a tensor [N][H][W][C].
inline ImageShape image_shape(const Tensor& tensor) {
  return {tensor.shape[0], tensor.shape[1], tensor.shape[2], tensor.shape[3]};
}

// Element number of (n, y, x, channel 0).
inline std::int64_t pixel_index(const ImageShape& shape, std::int64_t n, std::int64_t y,
                                std::int64_t x) {
  return ((n * shape.height + y) * shape.width + x) * shape.channels;
}

// The picture row (column) under kernel row ky of window oy; may be outside the picture.
inline std::int64_t window_row(const Window& window, std::int64_t oy, std::int64_t ky) {
  return oy * window.stride_h + ky * window.dilation_h - window.pad_top;
}
inline std::int64_t window_col(const Window& window, std::int64_t ox, std::int64_t kx) {
  return ox * window.stride_w + kx * window.dilation_w - window.pad_left;
}
inline bool is_inside(const ImageShape& shape, std::int64_t y, std::int64_t x) {
  return y >= 0 && y < shape.height && x >= 0 && x < shape.width;
}

}  // namespace qsim::golden
