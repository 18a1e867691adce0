#include "tests/rtl/programs/coverage_bins.h"

#include <algorithm>

#include "core/numerics/requantizer.h"

namespace qsim {
namespace {

// How many of the positions o * stride + k + origin, o < outputs, k < kernel, lie in [0, size).
std::int64_t inside(std::int64_t outputs, std::int64_t kernel, std::int64_t stride,
                    std::int64_t origin, std::int64_t size) {
  std::int64_t count = 0;
  for (std::int64_t o = 0; o < outputs; ++o) {
    const std::int64_t first = o * stride + origin;
    count += std::max<std::int64_t>(
        0, std::min(first + kernel, size) - std::max<std::int64_t>(first, 0));
  }
  return count;
}

std::size_t kernel_bin(std::uint32_t kernel) {
  return kernel <= 1 ? 0 : kernel <= 3 ? 1 : kernel <= 7 ? 2 : 3;
}

}  // namespace

ExecuteBins bins_of(const Execute& e) {
  const std::int64_t rows = inside(e.out_rows, e.kernel_h, e.stride_h, e.origin_row, e.in_rows);
  const std::int64_t cols = inside(e.out_cols, e.kernel_w, e.stride_w, e.origin_col, e.in_cols);
  const bool all_rows = rows == std::int64_t{e.out_rows} * e.kernel_h;
  const bool all_cols = cols == std::int64_t{e.out_cols} * e.kernel_w;
  ExecuteBins bins;
  bins.kernel = kernel_bin(std::max(e.kernel_h, e.kernel_w));
  bins.stride = std::min<std::size_t>(std::max(e.stride_h, e.stride_w), 3) - 1;
  if (rows == 0 || cols == 0) {
    bins.pad = PadBin::kAll;
  } else {
    bins.pad = all_rows && all_cols ? PadBin::kNone : PadBin::kSome;
  }
  return bins;
}

PoolBin pool_bin_of(const Post& p) {
  const std::int64_t rows = inside(p.out_rows, p.pool_h, p.pool_stride_h, p.origin_row, p.in_rows);
  const std::int64_t cols = inside(p.out_cols, p.pool_w, p.pool_stride_w, p.origin_col, p.in_cols);
  if (rows < std::int64_t{p.out_rows} * p.pool_h || cols < std::int64_t{p.out_cols} * p.pool_w) {
    return PoolBin::kPadded;
  }
  if (p.pool_h == 1 && p.pool_w == 1) return PoolBin::kNone;
  const bool overlaps = (p.out_rows > 1 && p.pool_stride_h < p.pool_h) ||
                        (p.out_cols > 1 && p.pool_stride_w < p.pool_w);
  return overlaps ? PoolBin::kOverlapping : PoolBin::kDisjoint;
}

std::size_t rounding_bin_of(const Post& post) {
  const bool is_float32 =
      post.rounding == static_cast<std::uint32_t>(RequantizerRounding::kFloat32);
  return is_float32 ? static_cast<std::size_t>(RoundingMode::kHalfEven) : post.rounding;
}

std::size_t shift_bin_of(int shift) {
  return shift <= 0 ? 0 : shift <= 7 ? 1 : shift <= 30 ? 2 : 3;
}

}  // namespace qsim
