#include "sim/systemc/datapath/post_kernel.h"

#include <cstring>
#include <vector>

#include "core/error.h"
#include "core/requantize.h"

namespace qsim {
namespace {

#define QSIM_ALWAYS_INLINE inline __attribute__((always_inline))

// What requantize() needs of one column, all 64 bits wide so that vectors need no conversion. The
// addend of core/requantize.h depends on t only through the lowest bit that the shift keeps:
// it is even_addend + (t >> shift & odd_addend), where odd_addend is 0 or 1.
struct Columns {
  std::vector<std::int64_t> bias;
  std::vector<std::int64_t> shift;
  std::vector<std::int64_t> even_addend;
  std::vector<std::int64_t> odd_addend;

  void add(std::int32_t column_bias, int column_shift, RoundingMode rounding) {
    const std::int64_t even = rounding_addend(0, column_shift, rounding);
    const std::int64_t odd =
        rounding_addend(std::int64_t{1} << column_shift, column_shift, rounding);
    bias.push_back(column_bias);
    shift.push_back(column_shift);
    even_addend.push_back(even);
    odd_addend.push_back(odd - even);
  }
};

// What one POST works on.
struct Epilogue {
  const Post& post;
  const std::int32_t* psums;  // [in_rows][in_cols][columns]
  const Columns& parameters;
  std::size_t columns;
  std::int8_t* out;  // [out_rows][out_cols][columns]
};

// best[c] = max(best[c], requantized psum c) for kColumns columns of one psum word. `lo` is applied
// by the value that `best` starts with.
template <std::size_t kColumns>
QSIM_ALWAYS_INLINE void take_larger(const Epilogue& epilogue, std::size_t word, std::size_t column,
                                    std::int64_t (&best)[kColumns]) {
  const std::int32_t* psums = epilogue.psums + word * epilogue.columns + column;
  const std::int64_t* bias = epilogue.parameters.bias.data() + column;
  const std::int64_t* shift = epilogue.parameters.shift.data() + column;
  const std::int64_t* even = epilogue.parameters.even_addend.data() + column;
  const std::int64_t* odd = epilogue.parameters.odd_addend.data() + column;
  const std::int64_t zero_point = epilogue.post.zero_point;
  const std::int64_t hi = epilogue.post.hi;
  for (std::size_t c = 0; c < kColumns; ++c) {
    const std::int64_t t = psums[c] + bias[c];
    const std::int64_t addend = even[c] + ((t >> shift[c]) & odd[c]);
    const std::int64_t q = ((t + addend) >> shift[c]) + zero_point;
    const std::int64_t clamped = q > hi ? hi : q;
    best[c] = clamped > best[c] ? clamped : best[c];
  }
}

// The ofmap word at (oy, ox), kColumns columns of it.
template <std::size_t kColumns>
QSIM_ALWAYS_INLINE void post_word(const Epilogue& epilogue, std::int64_t oy, std::int64_t ox,
                                  std::size_t column) {
  const Post& post = epilogue.post;
  std::int64_t best[kColumns];
  for (std::size_t c = 0; c < kColumns; ++c) best[c] = post.lo;
  for (std::int64_t ky = 0; ky < post.pool_h; ++ky) {
    const std::int64_t iy = oy * post.pool_stride_h + ky + post.origin_row;
    if (iy < 0 || iy >= post.in_rows) continue;
    for (std::int64_t kx = 0; kx < post.pool_w; ++kx) {
      const std::int64_t ix = ox * post.pool_stride_w + kx + post.origin_col;
      if (ix < 0 || ix >= post.in_cols) continue;
      take_larger(epilogue, static_cast<std::size_t>(iy * post.in_cols + ix), column, best);
    }
  }
  const auto word = static_cast<std::size_t>(oy * post.out_cols + ox);
  std::int8_t* out = epilogue.out + word * epilogue.columns + column;
  for (std::size_t c = 0; c < kColumns; ++c) out[c] = static_cast<std::int8_t>(best[c]);
}

template <std::size_t kColumns>
QSIM_ALWAYS_INLINE void run_post(const Epilogue& epilogue) {
  for (std::int64_t oy = 0; oy < epilogue.post.out_rows; ++oy) {
    for (std::int64_t ox = 0; ox < epilogue.post.out_cols; ++ox) {
      for (std::size_t c = 0; c < epilogue.columns; c += kColumns) {
        post_word<kColumns>(epilogue, oy, ox, c);
      }
    }
  }
}

// Columns are a power of two from 4; 16 at a time where there are that many.
QSIM_ALWAYS_INLINE void run_post_any(const Epilogue& epilogue) {
  if (epilogue.columns == 4) return run_post<4>(epilogue);
  if (epilogue.columns == 8) return run_post<8>(epilogue);
  run_post<16>(epilogue);
}

void run_post_portable(const Epilogue& epilogue) { run_post_any(epilogue); }

#if defined(__x86_64__)
__attribute__((target("avx2"))) void run_post_avx2(const Epilogue& epilogue) {
  run_post_any(epilogue);
}

__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))) void run_post_avx512(
    const Epilogue& epilogue) {
  run_post_any(epilogue);
}
#endif

// Biases, then shifts, of one parameter slot.
Columns read_columns(const Post& post, std::size_t columns, Scratchpads& scratchpads) {
  const std::int8_t* slot = scratchpads.parameters(post.param_slot).data();
  Columns parameters;
  for (std::size_t c = 0; c < columns; ++c) {
    std::int32_t bias = 0;
    std::memcpy(&bias, slot + 4 * c, sizeof bias);
    const int shift = slot[4 * columns + c] & kMaxShift;
    parameters.add(bias, shift, static_cast<RoundingMode>(post.rounding));
  }
  return parameters;
}

}  // namespace

void post_tile(const Post& post, const ArchConfig& arch, VectorPath path,
               Scratchpads& scratchpads) {
  QSIM_CHECK(post.rounding < kAcceleratorRoundingModes,
             "POST with rounding mode " + std::to_string(post.rounding));
  const auto columns = static_cast<std::size_t>(arch.array_cols);
  const Columns parameters = read_columns(post, columns, scratchpads);
  const std::int64_t psum_words = std::int64_t{post.in_rows} * post.in_cols;
  const std::int64_t out_words = std::int64_t{post.out_rows} * post.out_cols;
  const Epilogue epilogue{post, scratchpads.psums(post.acc_half, post.acc_addr, psum_words).data(),
                          parameters, columns,
                          scratchpads.outputs(post.out_addr, out_words).data()};
#if defined(__x86_64__)
  if (path == VectorPath::kAvx512Vnni) return run_post_avx512(epilogue);
  if (path == VectorPath::kAvxVnni || path == VectorPath::kAvx2) return run_post_avx2(epilogue);
#endif
  run_post_portable(epilogue);
}

}  // namespace qsim
