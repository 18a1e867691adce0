// Codes of elements (vector_conversion.h) over the operations of one instruction set. The including
// file defines QSIM_VECTOR, the attribute of its functions, and the operations
// (vector_conversion_*.cpp).
#pragma once

#include <cstring>

namespace qsim::golden {
namespace {

constexpr std::size_t kBlock = 4 * kLanes;

constexpr FloatFormat float_format(ElementFormat format) {
  if (format == ElementFormat::kE4m3) return kFp8E4m3;
  return format == ElementFormat::kE5m2 ? kFp8E5m2 : kFp4E2m1;
}

constexpr std::size_t elements_per_byte(ElementFormat format) {
  return format >= ElementFormat::kInt4 ? 2 : 1;
}

constexpr std::uint32_t sign_of_integer(ElementFormat format) {
  return format == ElementFormat::kInt8 ? 0x80 : 0x8;
}

constexpr int bias_of(const FloatFormat& format) { return (1 << (format.exponent_bits - 1)) - 1; }

constexpr float power_of_two(int exponent) {
  return float_of(static_cast<std::uint32_t>(exponent + 127) << 23);
}

// encode<format>() of each lane; of finite ones with `finite`. The sum with 2^(23 - mantissa_bits)
// units of the lane's own power of two, or of the smallest normal one, rounds to such units: it has
// in its last bits the code without the exponent.
template <ElementFormat target, bool finite>
QSIM_VECTOR inline Ints encode_float(Floats y) {
  constexpr FloatFormat kFormat = float_format(target);
  constexpr int kShift = 23 - kFormat.mantissa_bits;
  constexpr int kSignBit = kFormat.exponent_bits + kFormat.mantissa_bits;
  constexpr auto kLeastExponent = static_cast<std::uint32_t>(128 - bias_of(kFormat)) << 23;
  constexpr auto kUnits = static_cast<std::uint32_t>(kShift) << 23;
  const Ints bits = bits_of_lanes(y);
  const Ints magnitude =
      least(bits_and(bits, all(kFp32Magnitude)), all(decode<kFormat>(kFormat.largest)));
  const Ints exponent = signed_most(bits_and(magnitude, all(kFp32Infinity)), all(kLeastExponent));
  const Floats units = lanes_of_bits(add(exponent, all(kUnits)));
  const Ints sum = bits_of_lanes(add(lanes_of_bits(magnitude), units));
  const Ints field = subtract(shift_right<kShift>(exponent), exponent);
  const Ints code = add(add(sum, field), all(0U - kUnits - (kLeastExponent >> kShift)));
  const Ints sign = bits_and(shift_right<31 - kSignBit>(bits), all(1u << kSignBit));
  const Ints result = bits_or(code, sign);
  if constexpr (finite) return result;
  return replace_nan(y, result, all(kFormat.nan));
}

template <ElementFormat target, bool finite>
QSIM_VECTOR inline Ints encode_lanes(Floats y, Ints zero_point, Ints lo, Ints hi) {
  if constexpr (target == ElementFormat::kInt8 || target == ElementFormat::kInt4) {
    if constexpr (!finite) y = smallest(largest(zero_nan(y), every(-1024)), every(1024));
    const Ints level = signed_least(signed_most(add(to_nearest(y), zero_point), lo), hi);
    return bits_and(level, all(target == ElementFormat::kInt8 ? 0xFF : 0xF));
  } else {
    return encode_float<target, finite>(y);
  }
}

template <ElementFormat source>
QSIM_VECTOR inline Floats load_half(const std::uint16_t* x) {
  if constexpr (source == ElementFormat::kHalf) return load_fp16(x);
  return lanes_of_bits(shift_left<16>(load_words(x)));
}

// Number over scale, rounded. kReciprocal: quotient_by_reciprocal of scale_rule.h.
template <Division division>
QSIM_VECTOR inline Floats divided(Floats number, const EncodeJob& job, std::size_t slot) {
  if constexpr (division == Division::kQuotient) {
    return divide(number, every(job.scales[slot]));
  } else {
    const Floats reciprocal = every(job.reciprocals[slot]);
    const Floats q = multiply(number, reciprocal);
    if constexpr (division == Division::kPower) return q;
    const Floats rest = multiply_subtract(q, every(job.scales[slot]), number);
    return subtract_product(q, rest, reciprocal);
  }
}

template <ElementFormat source, ElementFormat target, Division division>
QSIM_VECTOR inline void encode_block(const EncodeJob& job, const std::uint16_t* x, std::size_t slot,
                                     std::uint8_t* out) {
  const Ints lo = all(static_cast<std::uint32_t>(job.range.lo));
  const Ints hi = all(static_cast<std::uint32_t>(job.range.hi));
  Ints codes[4];
  for (std::size_t i = 0; i < 4; ++i) {
    const std::size_t at = slot + i * kLanes / kSlot;
    const Floats y = divided<division>(load_half<source>(x + i * kLanes), job, at);
    const Ints zero_point = all(static_cast<std::uint32_t>(job.zero_points[at]));
    codes[i] = encode_lanes<target, division != Division::kQuotient>(y, zero_point, lo, hi);
  }
  const Bytes bytes = pack_bytes(codes);
  if constexpr (target == ElementFormat::kInt4 || target == ElementFormat::kE2m1) {
    store_nibbles(bytes, out);
  } else {
    store_bytes(bytes, out);
  }
}

template <ElementFormat source, ElementFormat target, Division division>
QSIM_VECTOR void encode_all(const EncodeJob& job) {
  constexpr std::size_t kPacked = elements_per_byte(target);
  std::size_t i = 0;
  for (; i + kBlock <= job.count; i += kBlock) {
    encode_block<source, target, division>(job, job.x + i, i / kSlot, job.out + i / kPacked);
  }
  if (i == job.count) return;
  std::uint16_t rest[kBlock] = {};
  std::uint8_t codes[kBlock] = {};
  std::memcpy(rest, job.x + i, (job.count - i) * sizeof *rest);
  encode_block<source, target, division>(job, rest, i / kSlot, codes);
  std::memcpy(job.out + i / kPacked, codes, (job.count - i + kPacked - 1) / kPacked);
  // The packed zero after an odd count is a code of its own where there is a zero_point.
  if (kPacked == 2 && job.count % 2 == 1) job.out[job.count / 2] &= 0xF;
}

void encode_job(ElementFormat source, ElementFormat target, const EncodeJob& job) {
  visit_half(source, [&](auto from) {
    visit_target(target, [&](auto to) {
      constexpr ElementFormat kFrom = decltype(from)::value;
      constexpr ElementFormat kTo = decltype(to)::value;
      if (job.division == Division::kQuotient)
        return encode_all<kFrom, kTo, Division::kQuotient>(job);
      if (job.division == Division::kPower) return encode_all<kFrom, kTo, Division::kPower>(job);
      encode_all<kFrom, kTo, Division::kReciprocal>(job);
    });
  });
}

}  // namespace
}  // namespace qsim::golden
