// POST with AVX-512: 16 columns of one position in a register, psums to levels in a dozen
// instructions. Conversions round to nearest, ties to even, which is the processor's state.
#if defined(__x86_64__)
#include <algorithm>

#include <immintrin.h>

#include "sim/systemc/datapath/post_epilogue.h"

#define QSIM_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define QSIM_INLINE QSIM_AVX512 inline __attribute__((always_inline))

namespace qsim::sim {
namespace {

constexpr std::size_t kLanes = 16;

QSIM_INLINE __m512 from_halves(__m256 low, __m256 high) {
  return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
}

QSIM_INLINE __m512i from_halves(__m256i low, __m256i high) {
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

// Levels less the zero_point, as float32 numbers limited to the ends of the range before they are
// rounded: the same levels, since the ends are integers.
struct Range {
  __m512 least;
  __m512 most;
  __m512i zero_point;

  QSIM_INLINE explicit Range(const Post& post)
      : least(_mm512_set1_ps(static_cast<float>(post.lo - post.zero_point))),
        most(_mm512_set1_ps(static_cast<float>(post.hi - post.zero_point))),
        zero_point(_mm512_set1_epi32(post.zero_point)) {}

  QSIM_INLINE __m512i levels(__m512 exact) const {
    const __m512 limited = _mm512_min_ps(_mm512_max_ps(exact, least), most);
    return _mm512_add_epi32(_mm512_cvtps_epi32(limited), zero_point);
  }
};

// Scales psums by one float32 scale a column: PostRule::kFloat32.
class Scaled {
 public:
  QSIM_INLINE Scaled(const PostEpilogue& epilogue, std::size_t column)
      : psums_(epilogue.psums + column),
        low_bias_(_mm512_load_si512(epilogue.parameters.bias.data() + column)),
        high_bias_(_mm512_load_si512(epilogue.parameters.bias.data() + column + kLanes / 2)),
        scale_(_mm512_load_ps(epilogue.parameters.scale.data() + column)),
        range_(epilogue.post) {}

  QSIM_INLINE __m512i levels(std::size_t at) const {
    const __m512i psums = _mm512_loadu_si512(psums_ + at);
    const __m512i low = _mm512_cvtepi32_epi64(_mm512_castsi512_si256(psums));
    const __m512i high = _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(psums, 1));
    const __m512 sum = from_halves(_mm512_cvtepi64_ps(_mm512_add_epi64(low, low_bias_)),
                                   _mm512_cvtepi64_ps(_mm512_add_epi64(high, high_bias_)));
    return range_.levels(_mm512_mul_ps(sum, scale_));
  }

 private:
  const std::int32_t* psums_;
  __m512i low_bias_;
  __m512i high_bias_;
  __m512 scale_;
  Range range_;
};

// Psums shifted, and multiplied before where kMultiplies: PostRule::kShift and kMultiply.
template <bool kMultiplies>
class Shifted {
 public:
  QSIM_INLINE Shifted(const PostEpilogue& epilogue, std::size_t column)
      : psums_(epilogue.psums + column),
        low_(epilogue.parameters, column),
        high_(epilogue.parameters, column + kLanes / 2),
        least_(_mm512_set1_epi32(epilogue.post.lo)),
        most_(_mm512_set1_epi32(epilogue.post.hi)),
        zero_point_(_mm512_set1_epi64(epilogue.post.zero_point)) {}

  QSIM_INLINE __m512i levels(std::size_t at) const {
    const __m512i psums = _mm512_loadu_si512(psums_ + at);
    const __m512i levels = from_halves(half_levels(low_, _mm512_castsi512_si256(psums)),
                                       half_levels(high_, _mm512_extracti64x4_epi64(psums, 1)));
    return _mm512_min_epi32(_mm512_max_epi32(levels, least_), most_);
  }

 private:
  // Eight columns. The bias comes multiplied: psum * multiplier + bias * multiplier has 57 bits,
  // and vpmuldq multiplies the low halves of its operands.
  struct Half {
    __m512i bias, multiplier, shift, even_addend, odd_addend;

    QSIM_INLINE Half(const PostColumns& columns, std::size_t column)
        : bias(_mm512_load_si512(columns.bias.data() + column)),
          multiplier(_mm512_load_si512(columns.multiplier.data() + column)),
          shift(_mm512_load_si512(columns.shift.data() + column)),
          even_addend(_mm512_load_si512(columns.even_addend.data() + column)),
          odd_addend(_mm512_load_si512(columns.odd_addend.data() + column)) {
      if constexpr (kMultiplies) bias = _mm512_mul_epi32(bias, multiplier);
    }
  };

  QSIM_INLINE __m256i half_levels(const Half& half, __m256i psums) const {
    __m512i product = _mm512_cvtepi32_epi64(psums);
    if constexpr (kMultiplies) product = _mm512_mul_epi32(product, half.multiplier);
    product = _mm512_add_epi64(product, half.bias);
    const __m512i odd = _mm512_and_si512(_mm512_srav_epi64(product, half.shift), half.odd_addend);
    const __m512i rounded = _mm512_add_epi64(product, _mm512_add_epi64(half.even_addend, odd));
    return _mm512_cvtsepi64_epi32(
        _mm512_add_epi64(_mm512_srav_epi64(rounded, half.shift), zero_point_));
  }

  const std::int32_t* psums_;
  Half low_;
  Half high_;
  __m512i least_;
  __m512i most_;
  __m512i zero_point_;
};

// Two psums to the level of their sum, float32 after each operand: PostRule::kSumFloat32. In units
// of 2^-kAdderFractionBits everything is an integer, ratios and the constant are float32 numbers,
// so that a fused multiplication and addition is the exact sum rounded once.
class Added {
 public:
  QSIM_INLINE Added(const PostEpilogue& epilogue, std::size_t column)
      : a_(epilogue.second_psums + column),
        b_(epilogue.psums + column),
        a_above_(_mm512_set1_epi32(epilogue.adder.a_is_unsigned ? 128 : 0)),
        b_above_(_mm512_set1_epi32(epilogue.adder.b_is_unsigned ? 128 : 0)),
        a_ratio_(_mm512_set1_ps(static_cast<float>(epilogue.adder.adder.a_ratio))),
        b_ratio_(_mm512_set1_ps(static_cast<float>(epilogue.adder.adder.b_ratio))),
        fixed_(_mm512_set1_ps(static_cast<float>(epilogue.adder.adder.fixed))),
        unit_(_mm512_set1_ps(kUnit)),
        range_(epilogue.post) {}

  QSIM_INLINE __m512i levels(std::size_t at) const {
    const __m512 part = _mm512_fmadd_ps(carried_levels(b_ + at, b_above_), b_ratio_, fixed_);
    const __m512 sum = _mm512_fmadd_ps(carried_levels(a_ + at, a_above_), a_ratio_, part);
    return range_.levels(_mm512_mul_ps(sum, unit_));
  }

 private:
  static constexpr float kUnit = 1.0F / static_cast<float>(std::int64_t{1} << kAdderFractionBits);

  QSIM_INLINE static __m512 carried_levels(const std::int32_t* psums, __m512i above) {
    const __m128i bytes = _mm512_cvtepi32_epi8(_mm512_loadu_si512(psums));
    return _mm512_cvtepi32_ps(_mm512_add_epi32(_mm512_cvtepi8_epi32(bytes), above));
  }

  const std::int32_t* a_;
  const std::int32_t* b_;
  __m512i a_above_;
  __m512i b_above_;
  __m512 a_ratio_;
  __m512 b_ratio_;
  __m512 fixed_;
  __m512 unit_;
  Range range_;
};

QSIM_INLINE __m512i looked_up(const std::int8_t* table, __m512i levels) {
  alignas(kLanes) std::uint8_t bytes[kLanes];
  _mm_store_si128(reinterpret_cast<__m128i*>(bytes), _mm512_cvtepi32_epi8(levels));
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(table[byte]);
  return _mm512_cvtepi8_epi32(_mm_load_si128(reinterpret_cast<const __m128i*>(bytes)));
}

// Window positions [begin, end) that are in the psum tile.
struct Window {
  std::int64_t begin;
  std::int64_t end;
};

Window window_at(std::int64_t first, std::int64_t kernel, std::int64_t size) {
  return {std::max<std::int64_t>(first, 0), std::min(first + kernel, size)};
}

// The largest level under the window of ofmap position (oy, ox).
template <typename Levels>
QSIM_INLINE __m512i pooled(const PostEpilogue& epilogue, const Levels& levels, std::int64_t oy,
                           std::int64_t ox) {
  const Post& post = epilogue.post;
  const Window rows =
      window_at(oy * post.pool_stride_h + post.origin_row, post.pool_h, post.in_rows);
  const Window cols =
      window_at(ox * post.pool_stride_w + post.origin_col, post.pool_w, post.in_cols);
  __m512i best = _mm512_set1_epi32(epilogue.table != nullptr ? -128 : post.lo);
  for (std::int64_t iy = rows.begin; iy < rows.end; ++iy) {
    for (std::int64_t ix = cols.begin; ix < cols.end; ++ix) {
      __m512i level =
          levels.levels(static_cast<std::size_t>(iy * post.in_cols + ix) * epilogue.columns);
      if (epilogue.table != nullptr) level = looked_up(epilogue.table, level);
      best = _mm512_max_epi32(best, level);
    }
  }
  return best;
}

QSIM_INLINE void store(std::int8_t* out, __m512i levels) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm512_cvtepi32_epi8(levels));
}

template <typename Levels>
QSIM_AVX512 void run(const PostEpilogue& epilogue) {
  const Post& post = epilogue.post;
  const std::size_t pitch = epilogue.columns;
  const std::size_t words = std::size_t{post.out_rows} * post.out_cols;
  const bool is_plain = is_position_by_position(post) && epilogue.table == nullptr;
  for (std::size_t column = 0; column < pitch; column += kLanes) {
    const Levels levels(epilogue, column);
    std::int8_t* out = epilogue.out + column;
    if (is_plain) {
      for (std::size_t at = 0; at < words * pitch; at += pitch) store(out + at, levels.levels(at));
      continue;
    }
    for (std::int64_t oy = 0; oy < post.out_rows; ++oy) {
      for (std::int64_t ox = 0; ox < post.out_cols; ++ox, out += pitch) {
        store(out, pooled(epilogue, levels, oy, ox));
      }
    }
  }
}

bool is_float32(std::int64_t value) {
  return static_cast<std::int64_t>(static_cast<float>(value)) == value;
}

}  // namespace

bool try_post_avx512(const PostEpilogue& epilogue) {
  if (epilogue.columns % kLanes != 0) return false;
  switch (epilogue.rule) {
    case PostRule::kShift:
      run<Shifted<false>>(epilogue);
      return true;
    case PostRule::kMultiply:
      run<Shifted<true>>(epilogue);
      return true;
    case PostRule::kFloat32:
      run<Scaled>(epilogue);
      return true;
    case PostRule::kSumFloat32:
      if (!is_float32(epilogue.adder.adder.fixed)) return false;
      run<Added>(epilogue);
      return true;
    case PostRule::kSum:
      return false;
  }
  return false;
}

}  // namespace qsim::sim

#endif  // defined(__x86_64__)
