#include "sim/systemc/datapath/post_kernel.h"

#include <bit>
#include <cmath>

#include "core/base/error.h"
#include "core/machine/isa/parameter_block.h"
#include "core/machine/isa/post_words.h"
#include "sim/systemc/datapath/post_epilogue.h"

namespace qsim::sim {
namespace {

#define QSIM_ALWAYS_INLINE inline __attribute__((always_inline))

// (psum + bias) * scale rounded to an integer, of column c. By kFloat32 it is limited to the ends
// of the range before it is rounded, which gives the same level since the ends are integers.
template <PostRule kRule>
QSIM_ALWAYS_INLINE std::int64_t level_of(const PostColumns& parameters, std::size_t c,
                                         std::int64_t t, float least, float most) {
  if constexpr (kRule == PostRule::kFloat32) {
    const float product = static_cast<float>(t) * parameters.scale[c];
    const float limited = product < least ? least : (product > most ? most : product);
    return static_cast<std::int32_t>(std::nearbyint(limited));
  } else {
    const std::int64_t product = kRule == PostRule::kMultiply ? t * parameters.multiplier[c] : t;
    const std::int64_t shift = parameters.shift[c];
    const std::int64_t addend =
        parameters.even_addend[c] + ((product >> shift) & parameters.odd_addend[c]);
    return (product + addend) >> shift;
  }
}

// The sum to 24 significant bits: the host's conversion to float32 rounds to nearest, ties to even.
template <PostRule kRule>
QSIM_ALWAYS_INLINE std::int64_t seen_sum(std::int64_t sum) {
  return kRule == PostRule::kSumFloat32 ? static_cast<std::int64_t>(static_cast<float>(sum)) : sum;
}

// levels[c] = the level of two psums, zero_point included, not clamped; as add_levels() has it.
template <PostRule kRule, std::size_t kColumns>
QSIM_ALWAYS_INLINE void add_words(const PostEpilogue& epilogue, std::size_t at,
                                  std::int64_t (&levels)[kColumns]) {
  const PsumAdder& adder = epilogue.adder;
  const RoundingMode mode = kRule == PostRule::kSumFloat32
                                ? RoundingMode::kHalfEven
                                : static_cast<RoundingMode>(epilogue.post.rounding);
  for (std::size_t c = 0; c < kColumns; ++c) {
    const std::int64_t b = level_of_psum(epilogue.psums[at + c], adder.b_is_unsigned);
    const std::int64_t a = level_of_psum(epilogue.second_psums[at + c], adder.a_is_unsigned);
    const std::int64_t part = seen_sum<kRule>(b * adder.adder.b_ratio + adder.adder.fixed);
    const std::int64_t sum = seen_sum<kRule>(a * adder.adder.a_ratio + part);
    levels[c] = rounding_shift(sum, kAdderFractionBits, mode) + epilogue.post.zero_point;
  }
}

// levels[c] = the level of one psum, likewise.
template <PostRule kRule, std::size_t kColumns>
QSIM_ALWAYS_INLINE void scale_word(const PostEpilogue& epilogue, std::size_t at, std::size_t column,
                                   std::int64_t (&levels)[kColumns]) {
  const std::int32_t* psums = epilogue.psums + at;
  const std::int64_t* bias = epilogue.parameters.bias.data() + column;
  const std::int64_t zero_point = epilogue.post.zero_point;
  const auto least = static_cast<float>(epilogue.post.lo - zero_point);
  const auto most = static_cast<float>(epilogue.post.hi - zero_point);
  for (std::size_t c = 0; c < kColumns; ++c) {
    const std::int64_t t = psums[c] + bias[c];
    levels[c] = level_of<kRule>(epilogue.parameters, column + c, t, least, most) + zero_point;
  }
}

// best[c] = max(best[c], level c) for kColumns columns of one position. Without a table `lo` is
// applied by the value that `best` starts with.
template <PostRule kRule, std::size_t kColumns>
QSIM_ALWAYS_INLINE void take_larger(const PostEpilogue& epilogue, std::size_t word,
                                    std::size_t column, std::int64_t (&best)[kColumns]) {
  const std::size_t at = word * epilogue.columns + column;
  const std::int64_t lo = epilogue.post.lo;
  const std::int64_t hi = epilogue.post.hi;
  std::int64_t levels[kColumns];
  if constexpr (adds(kRule)) {
    add_words<kRule>(epilogue, at, levels);
  } else {
    scale_word<kRule>(epilogue, at, column, levels);
  }
  for (std::size_t c = 0; c < kColumns; ++c) levels[c] = levels[c] > hi ? hi : levels[c];
  if (kRule != PostRule::kShift && epilogue.table != nullptr) {
    for (std::size_t c = 0; c < kColumns; ++c) {
      const std::int64_t level = levels[c] < lo ? lo : levels[c];
      levels[c] = epilogue.table[static_cast<std::uint8_t>(level)];
    }
  }
  for (std::size_t c = 0; c < kColumns; ++c) best[c] = levels[c] > best[c] ? levels[c] : best[c];
}
// The ofmap word at (oy, ox), kColumns columns of it.
template <PostRule kRule, std::size_t kColumns>
QSIM_ALWAYS_INLINE void post_word(const PostEpilogue& epilogue, std::int64_t oy, std::int64_t ox,
                                  std::size_t column) {
  const Post& post = epilogue.post;
  std::int64_t best[kColumns];
  const std::int64_t least = epilogue.table != nullptr ? -128 : post.lo;
  for (std::size_t c = 0; c < kColumns; ++c) best[c] = least;
  for (std::int64_t ky = 0; ky < post.pool_h; ++ky) {
    const std::int64_t iy = oy * post.pool_stride_h + ky + post.origin_row;
    if (iy < 0 || iy >= post.in_rows) continue;
    for (std::int64_t kx = 0; kx < post.pool_w; ++kx) {
      const std::int64_t ix = ox * post.pool_stride_w + kx + post.origin_col;
      if (ix < 0 || ix >= post.in_cols) continue;
      take_larger<kRule>(epilogue, static_cast<std::size_t>(iy * post.in_cols + ix), column, best);
    }
  }
  const auto word = static_cast<std::size_t>(oy * post.out_cols + ox);
  std::int8_t* out = epilogue.out + word * epilogue.columns + column;
  for (std::size_t c = 0; c < kColumns; ++c) out[c] = static_cast<std::int8_t>(best[c]);
}

template <PostRule kRule, std::size_t kColumns>
QSIM_ALWAYS_INLINE void run_post(const PostEpilogue& epilogue) {
  for (std::int64_t oy = 0; oy < epilogue.post.out_rows; ++oy) {
    for (std::int64_t ox = 0; ox < epilogue.post.out_cols; ++ox) {
      for (std::size_t c = 0; c < epilogue.columns; c += kColumns) {
        post_word<kRule, kColumns>(epilogue, oy, ox, c);
      }
    }
  }
}

// Columns are a power of two from 4; 16 at a time where there are that many.
template <PostRule kRule>
QSIM_ALWAYS_INLINE void run_post_columns(const PostEpilogue& epilogue) {
  if (epilogue.columns == 4) return run_post<kRule, 4>(epilogue);
  if (epilogue.columns == 8) return run_post<kRule, 8>(epilogue);
  run_post<kRule, 16>(epilogue);
}

QSIM_ALWAYS_INLINE void run_post_any(const PostEpilogue& epilogue) {
  if (epilogue.rule == PostRule::kShift) return run_post_columns<PostRule::kShift>(epilogue);
  if (epilogue.rule == PostRule::kMultiply) return run_post_columns<PostRule::kMultiply>(epilogue);
  if (epilogue.rule == PostRule::kSum) return run_post_columns<PostRule::kSum>(epilogue);
  if (epilogue.rule == PostRule::kSumFloat32)
    return run_post_columns<PostRule::kSumFloat32>(epilogue);
  run_post_columns<PostRule::kFloat32>(epilogue);
}

void run_post_portable(const PostEpilogue& epilogue) { run_post_any(epilogue); }

#if defined(__x86_64__)
__attribute__((target("avx2"))) void run_post_avx2(const PostEpilogue& epilogue) {
  run_post_any(epilogue);
}

__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))) void run_post_avx512(
    const PostEpilogue& epilogue) {
  run_post_any(epilogue);
}
#endif

PostRule rule_of(const Post& post, const ArchConfig& arch) {
  if (!arch.is_dyadic()) return PostRule::kShift;
  const bool is_float32 =
      post.rounding == static_cast<std::uint32_t>(RequantizerRounding::kFloat32);
  if (post.add != 0) return is_float32 ? PostRule::kSumFloat32 : PostRule::kSum;
  return is_float32 ? PostRule::kFloat32 : PostRule::kMultiply;
}

// multiplier / 2^shift, exactly: a multiplier has 24 bits, a shift is at most 63.
float scale_of(std::uint32_t multiplier, int shift) {
  const auto unit = std::bit_cast<float>(static_cast<std::uint32_t>(127 - shift) << 23);
  return static_cast<float>(multiplier) * unit;
}

void read_columns(const Post& post, const ArchConfig& arch, PostRule rule, Scratchpads& scratchpads,
                  PostColumns& columns) {
  const std::span<const std::byte> slot = std::as_bytes(scratchpads.parameters(post.param_slot));
  const auto mode = static_cast<RoundingMode>(post.rounding);
  QSIM_CHECK(static_cast<std::size_t>(arch.array_cols) <= PostColumns::kMost,
             "POST of " + std::to_string(arch.array_cols) + " columns");
  for (std::int64_t column = 0; column < arch.array_cols; ++column) {
    const auto [bias, requantizer] =
        read_channel(slot, arch, column, static_cast<RequantizerRounding>(post.rounding));
    const auto c = static_cast<std::size_t>(column);
    columns.bias[c] = bias;
    if (rule == PostRule::kFloat32) {
      columns.scale[c] = scale_of(requantizer.multiplier, requantizer.shift);
      continue;
    }
    const int shift = rule == PostRule::kShift ? *as_shift(requantizer) : requantizer.shift;
    columns.multiplier[c] = requantizer.multiplier;
    columns.shift[c] = shift;
    columns.even_addend[c] = rounding_addend(std::int64_t{0}, shift, mode);
    columns.odd_addend[c] =
        rounding_addend(std::int64_t{-1} << shift, shift, mode) - columns.even_addend[c];
  }
}

PsumAdder read_psum_adder(const Post& post, Scratchpads& scratchpads) {
  if (post.add == 0) return {};
  return read_adder(std::as_bytes(scratchpads.parameters(post.param_slot)),
                    static_cast<RequantizerRounding>(post.rounding));
}

}  // namespace

void post_tile(const Post& post, const ArchConfig& arch, VectorPath path,
               Scratchpads& scratchpads) {
  for (const std::string& fault :
       {rounding_fault(post.rounding, arch), add_fault(post, arch), lookup_fault(post, arch)}) {
    QSIM_CHECK(fault.empty(), "POST: " + fault);
  }
  const auto columns = static_cast<std::size_t>(arch.array_cols);
  const PostRule rule = rule_of(post, arch);
  PostColumns parameters;  // 11 KB, of which few are set
  if (!adds(rule)) read_columns(post, arch, rule, scratchpads, parameters);
  const std::int64_t words = psum_words(post);
  const std::int64_t out_words = std::int64_t{post.out_rows} * post.out_cols;
  const auto psums = [&](std::uint32_t half, std::uint32_t addr) {
    return scratchpads.psums(half, addr, words).data();
  };
  const PostEpilogue epilogue{
      post,
      psums(post.acc_half, post.acc_addr),
      post.add != 0 ? psums(post.second_half, post.second_addr) : nullptr,
      parameters,
      read_psum_adder(post, scratchpads),
      post.lookup != 0 ? scratchpads.table(post.param_slot).data() : nullptr,
      rule,
      columns,
      scratchpads.outputs(post.out_addr, out_words).data()};
#if defined(__x86_64__)
  if (path == VectorPath::kAvx512Vnni) {
    if (!try_post_avx512(epilogue)) run_post_avx512(epilogue);
    return;
  }
  if (path == VectorPath::kAvxVnni || path == VectorPath::kAvx2) return run_post_avx2(epilogue);
#endif
  run_post_portable(epilogue);
}

}  // namespace qsim::sim
