// The extents and the scales of groups (vector_conversion.h) over the operations of one instruction
// set; after vector_decode_body.h.
#pragma once

#include "golden/kernels/convert/vector_decode_body.h"

namespace qsim::golden {
namespace {

// 16 words each time: a register of 256 bits also with AVX-512, for groups of 16.
QSIM_VECTOR inline std::uint16_t largest_word(__m256i words) {
  const __m128i eight =
      _mm_max_epu16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
  const __m128i least = _mm_minpos_epu16(_mm_xor_si128(eight, _mm_set1_epi16(-1)));
  return static_cast<std::uint16_t>(~_mm_cvtsi128_si32(least));
}

struct Extremes {
  __m256i positive, negative;
};

// All codes count. Codes as signed words are in the order of the numbers from 0 on; with another
// sign the magnitudes of the negative ones are.
template <bool both>
QSIM_VECTOR inline void extend(Extremes& found, const std::uint16_t* x) {
  const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x));
  if constexpr (both) {
    found.positive = _mm256_max_epi16(found.positive, words);
    found.negative =
        _mm256_max_epi16(found.negative, _mm256_xor_si256(words, _mm256_set1_epi16(-0x8000)));
  } else {
    found.positive =
        _mm256_max_epu16(found.positive, _mm256_and_si256(words, _mm256_set1_epi16(0x7FFF)));
  }
}

// Extents of a group that has codes which do not count.
Extent finite_extent(const std::uint16_t* x, std::size_t count, std::uint16_t infinity) {
  Extent found;
  for (std::size_t i = 0; i < count; ++i) {
    const auto magnitude = static_cast<std::uint16_t>(x[i] & 0x7FFF);
    if (magnitude >= infinity) continue;
    std::uint16_t& side = x[i] != magnitude ? found.negative : found.positive;
    if (side < magnitude) side = magnitude;
  }
  return found;
}

template <bool both>
QSIM_VECTOR inline Extent extent_of(const std::uint16_t* x, std::size_t count) {
  Extremes found = {_mm256_setzero_si256(), _mm256_setzero_si256()};
  std::size_t i = 0;
  for (; i + kSlot <= count; i += kSlot) extend<both>(found, x + i);
  if (i < count) {
    std::uint16_t rest[kSlot] = {};
    std::memcpy(rest, x + i, (count - i) * sizeof *rest);
    extend<both>(found, rest);
  }
  return {largest_word(found.positive), both ? largest_word(found.negative) : std::uint16_t{0}};
}

template <bool both>
QSIM_VECTOR bool extents_of(const std::uint16_t* x, std::size_t count, std::size_t group,
                            std::uint16_t infinity, Extent* out) {
  bool finite = true;
  for (std::size_t i = 0; i < count; i += group) {
    const std::size_t elems = count - i < group ? count - i : group;
    Extent extent = extent_of<both>(x + i, elems);
    if (extent.positive >= infinity || extent.negative >= infinity) {
      extent = finite_extent(x + i, elems, infinity);
      finite = false;
    }
    *out++ = extent;
  }
  return finite;
}

bool extents(const std::uint16_t* x, std::size_t count, std::size_t group, std::uint16_t infinity,
             bool both, Extent* out) {
  return both ? extents_of<true>(x, count, group, infinity, out)
              : extents_of<false>(x, count, group, infinity, out);
}

// kLanes codes of 16 bits, a lane each, as numbers.
QSIM_VECTOR inline Floats numbers_of(ElementFormat source, Ints codes) {
  if (source == ElementFormat::kBfloat16) return lanes_of_bits(shift_left<16>(codes));
  std::uint16_t words[kLanes];
  store_words(codes, words);
  return load_fp16(words);
}

QSIM_VECTOR inline Floats at_least_of(Floats x, std::uint32_t bits) {
  return largest(x, every(float_of(bits)));
}

// x where amax is 0, else y.
QSIM_VECTOR inline Ints if_zero(Floats amax, Ints x, Ints y) {
  return if_less(bits_of_lanes(amax), all(1), x, y);
}

// ue8m0_scale() of each lane.
QSIM_VECTOR inline Ints power_codes(Floats amax, const ScaleRule& rule) {
  Ints codes;
  if (rule.rounding == PowerRounding::kFloor) {
    const auto exponent = static_cast<std::uint32_t>(largest_exponent(rule.format));
    codes = signed_most(subtract(shift_right<23>(bits_of_lanes(amax)), all(exponent)), all(0));
  } else {
    const bool up = rule.rounding == PowerRounding::kCeil;
    const Ints bits =
        bits_of_lanes(at_least_of(divide(amax, every(largest_number(rule.format))), kLeastPower));
    // Below 2^-126 the fraction has its leading 1.
    const Ints addend =
        if_less(bits, all(0x800000), all(up ? 0x3FFFFF : 0x200000), all(up ? 0x7FFFFF : 0x400000));
    codes = shift_right<23>(add(bits, addend));
  }
  return if_zero(amax, all(127), codes);
}

// e4m3_scale() of each lane.
QSIM_VECTOR inline Ints e4m3_codes(Floats amax, const ScaleRule& rule) {
  const Floats part = divide(divide(amax, every(largest_number(rule.format))), every(rule.global));
  const Ints codes = signed_most(encode_float<ElementFormat::kE4m3, true>(part), all(1));
  return if_zero(amax, all(0x38), codes);
}

// affine_scale() of each lane.
QSIM_VECTOR inline Floats affine_scales(Floats positive, Floats negative, const ScaleRule& rule,
                                        Ints& zero_points) {
  const IntegerRange range = integer_range(rule.format, true);
  const Floats steps = every(static_cast<float>(range.hi - range.lo));
  const Floats span = add(divide(positive, steps), divide(negative, steps));
  const Ints empty = bits_or(bits_of_lanes(positive), bits_of_lanes(negative));
  const Floats scale = at_least_of(span, kLeastScale);
  const Ints lo = all(static_cast<std::uint32_t>(range.lo));
  // lo of the definition is -negative.
  const Ints raw = add(lo, to_nearest(divide(negative, scale)));
  const Ints limited =
      signed_least(signed_most(raw, lo), all(static_cast<std::uint32_t>(range.hi)));
  zero_points = if_less(empty, all(1), all(0), limited);
  return lanes_of_bits(if_less(empty, all(1), all(bits_of(1.0F)), bits_of_lanes(scale)));
}

QSIM_VECTOR inline void scales_of(const ScaleRule& rule, const Extent* extents, std::size_t i,
                                  const ScaleArrays& out) {
  const Ints pairs = load_ints(extents + i);
  const Floats clip = every(rule.clip_value);
  const Floats positive = smallest(numbers_of(rule.source, bits_and(pairs, all(0xFFFF))), clip);
  const Floats negative = smallest(numbers_of(rule.source, shift_right<16>(pairs)), clip);
  const Floats amax = largest(positive, negative);
  Floats scale;
  Ints zero_points = all(0);
  Ints codes = all(0);
  if (rule.zero_point) {
    scale = affine_scales(positive, negative, rule, zero_points);
  } else if (rule.scales == ScaleFormat::kFp32) {
    const Floats quotient = divide(amax, every(largest_number(rule.format)));
    scale = lanes_of_bits(
        if_zero(amax, all(bits_of(1.0F)), bits_of_lanes(at_least_of(quotient, kLeastScale))));
  } else if (rule.scales == ScaleFormat::kUe8m0) {
    codes = power_codes(amax, rule);
    scale = lanes_of_bits(if_less(codes, all(1), all(kLeastPower), shift_left<23>(codes)));
  } else {
    codes = e4m3_codes(amax, rule);
    scale = multiply(decode_lanes<ElementFormat::kE4m3>(codes, all(0)), every(rule.global));
  }
  store_ints(bits_of_lanes(scale), out.scales + i);
  store_ints(bits_of_lanes(divide(every(1), scale)), out.reciprocals + i);
  store_ints(zero_points, out.zero_points + i);
  store_ints(codes, out.codes + i);
}

QSIM_VECTOR void scales(const ScaleRule& rule, const Extent* extents, std::size_t count,
                        const ScaleArrays& out) {
  for (std::size_t i = 0; i < count; i += kLanes) scales_of(rule, extents, i, out);
}

}  // namespace
}  // namespace qsim::golden
