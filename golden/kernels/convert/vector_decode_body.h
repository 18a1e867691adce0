// Elements of codes (vector_conversion.h) over the operations of one instruction set; after
// vector_encode_body.h.
#pragma once

#include "golden/kernels/convert/vector_encode_body.h"

namespace qsim::golden {
namespace {

// number_of<source>() of each lane's byte.
template <ElementFormat source>
QSIM_VECTOR inline Floats decode_lanes(Ints code, Ints zero_point) {
  if constexpr (source == ElementFormat::kInt8 || source == ElementFormat::kInt4) {
    constexpr std::uint32_t kSign = sign_of_integer(source);
    const Ints level = subtract(bits_xor(code, all(kSign)), all(kSign));
    return to_float(subtract(level, zero_point));
  } else {
    constexpr FloatFormat kFormat = float_format(source);
    constexpr int kBias = bias_of(kFormat);
    constexpr int kSignBit = kFormat.exponent_bits + kFormat.mantissa_bits;
    const Ints magnitude = bits_and(code, all((1u << kSignBit) - 1));
    const Ints normal = add(shift_left<23 - kFormat.mantissa_bits>(magnitude),
                            all(static_cast<std::uint32_t>(127 - kBias) << 23));
    const Floats unit = every(power_of_two(1 - kBias - kFormat.mantissa_bits));
    const Ints subnormal = bits_of_lanes(multiply(to_float(magnitude), unit));
    Ints bits = if_less(magnitude, all(1u << kFormat.mantissa_bits), subnormal, normal);
    if constexpr (kFormat.has_nan) {
      const std::uint32_t next = kFormat.has_infinity ? kFp32Infinity : kFp32Nan;
      bits = if_less(all(kFormat.largest), magnitude, all(next), bits);
      bits = if_less(all(kFormat.largest + 1), magnitude, all(kFp32Nan), bits);
    }
    return lanes_of_bits(
        bits_or(bits, shift_left<31 - kSignBit>(bits_and(code, all(1u << kSignBit)))));
  }
}

// Products as 16-bit codes.
template <ElementFormat target>
QSIM_VECTOR inline void store_halves(Floats y, std::uint16_t* out) {
  if constexpr (target == ElementFormat::kHalf) {
    store_fp16(y, out);
  } else {
    const Ints bits = bits_of_lanes(y);
    const Ints odd = bits_and(shift_right<16>(bits), all(1));
    store_words(shift_right<16>(add(add(bits, all(0x7FFF)), odd)), out);
  }
}

// A block of codes of any bits.
template <ElementFormat source, ElementFormat target>
QSIM_VECTOR inline void decode_block(const DecodeJob& job, const std::uint8_t* q, std::size_t slot,
                                     std::uint16_t* out) {
  for (std::size_t i = 0; i < 4; ++i) {
    const std::size_t at = slot + i * kLanes / kSlot;
    const Ints zero_point = all(static_cast<std::uint32_t>(job.zero_points[at]));
    const Floats number = decode_lanes<source>(load_bytes(q + i * kLanes), zero_point);
    store_halves<target>(canonical_nan(multiply(number, every(job.factors[at]))), out + i * kLanes);
  }
}

// A block with finite factors; false, with nothing written, where a code is not finite.
template <ElementFormat source, ElementFormat target>
QSIM_VECTOR inline bool decode_finite_block(const DecodeJob& job, const std::uint8_t* q,
                                            std::size_t slot, std::uint16_t* out) {
  if constexpr (source == ElementFormat::kInt8) {
    for (std::size_t i = 0; i < 4; ++i) {
      const std::size_t at = slot + i * kLanes / kSlot;
      const Ints zero_point = all(static_cast<std::uint32_t>(job.zero_points[at]));
      const Floats number = decode_lanes<source>(load_bytes(q + i * kLanes), zero_point);
      store_halves<target>(multiply(number, every(job.factors[at])), out + i * kLanes);
    }
    return true;
  } else {
    // E5M2 is the upper half of FP16; the exponent bias of FP16 is 8 more than that of E4M3.
    constexpr bool kE4 = source == ElementFormat::kE4m3;
    alignas(64) std::uint16_t halves[kBlock];
    for (std::size_t i = 0; i < kBlock; i += 2 * kLanes) {
      const Ints words = widen_bytes(q + i);
      const Ints magnitude = bits_and(words, every_word(0x7F));
      if (any_word_above(magnitude, kE4 ? 0x7E : 0x7B)) return false;
      const Ints sign = bits_and(shift_words_left<8>(words), every_word(0x8000));
      store_ints(
          bits_or(kE4 ? shift_words_left<7>(magnitude) : shift_words_left<8>(magnitude), sign),
          halves + i);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      Floats number = load_fp16(halves + i * kLanes);
      if constexpr (kE4) number = multiply(number, every(256));
      const std::size_t at = slot + i * kLanes / kSlot;
      store_halves<target>(multiply(number, every(job.factors[at])), out + i * kLanes);
    }
    return true;
  }
}

template <ElementFormat source, ElementFormat target>
QSIM_VECTOR void decode_bytes(const DecodeJob& job) {
  auto* out = static_cast<std::uint16_t*>(job.out);
  std::size_t i = 0;
  for (; i + kBlock <= job.count; i += kBlock) {
    if (job.finite && decode_finite_block<source, target>(job, job.q + i, i / kSlot, out + i)) {
      continue;
    }
    decode_block<source, target>(job, job.q + i, i / kSlot, out + i);
  }
  if (i == job.count) return;
  std::uint8_t rest[kBlock] = {};
  std::uint16_t numbers[kBlock];
  std::memcpy(rest, job.q + i, job.count - i);
  decode_block<source, target>(job, rest, i / kSlot, numbers);
  std::memcpy(out + i, numbers, (job.count - i) * sizeof *out);
}

// What the 16 codes of a 4-bit format become, with a factor and a zero_point.
template <ElementFormat source, ElementFormat target>
QSIM_VECTOR inline void fill_table(float factor, std::int32_t zero_point, std::uint16_t* table) {
  const Ints zero = all(static_cast<std::uint32_t>(zero_point));
  for (std::size_t i = 0; i < 16; i += kLanes) {
    const Floats number =
        decode_lanes<source>(add(lane_numbers(), all(static_cast<std::uint32_t>(i))), zero);
    store_halves<target>(canonical_nan(multiply(number, every(factor))), table + i);
  }
}

// 4-bit formats: a table a group, 32 elements at a time.
template <ElementFormat source, ElementFormat target>
QSIM_VECTOR void decode_nibbles(const DecodeJob& job) {
  auto* out = static_cast<std::uint16_t*>(job.out);
  for (std::size_t first = 0; first < job.count; first += job.group) {
    const std::size_t end = job.count - first < job.group ? job.count : first + job.group;
    alignas(64) std::uint16_t table[32];
    fill_table<source, target>(job.factors[first / kSlot], job.zero_points[first / kSlot], table);
    const HalfTable halves = half_table(table);
    std::size_t i = first;
    for (; i + 32 <= end; i += 32) look_up_halves(halves, job.q + i / 2, out + i);
    if (i == end) continue;
    std::uint8_t rest[16] = {};
    std::uint16_t numbers[32];
    std::memcpy(rest, job.q + i / 2, (end - i + 1) / 2);
    look_up_halves(halves, rest, numbers);
    std::memcpy(out + i, numbers, (end - i) * sizeof *out);
  }
}

void decode_job(ElementFormat source, ElementFormat target, const DecodeJob& job) {
  visit_target(source, [&](auto from) {
    visit_half(target, [&](auto to) {
      constexpr ElementFormat kFrom = decltype(from)::value;
      if constexpr (kFrom >= ElementFormat::kInt4) {
        decode_nibbles<kFrom, decltype(to)::value>(job);
      } else {
        decode_bytes<kFrom, decltype(to)::value>(job);
      }
    });
  });
}

// The FP8 codes of the 16 codes of an INT4 with this factor and zero_point.
template <ElementFormat target>
QSIM_VECTOR inline void fill_byte_table(float factor, std::int32_t zero_point,
                                        std::uint8_t* table) {
  const Ints zero = all(static_cast<std::uint32_t>(zero_point));
  std::uint16_t words[16];
  for (std::size_t i = 0; i < 16; i += kLanes) {
    const Floats number = decode_lanes<ElementFormat::kInt4>(
        add(lane_numbers(), all(static_cast<std::uint32_t>(i))), zero);
    store_words(encode_float<target, false>(multiply(number, every(factor))), words + i);
  }
  for (std::size_t i = 0; i < 16; ++i) table[i] = static_cast<std::uint8_t>(words[i]);
}

template <ElementFormat target>
QSIM_VECTOR void int4_to_fp8_all(const DecodeJob& job) {
  auto* out = static_cast<std::uint8_t*>(job.out);
  for (std::size_t first = 0; first < job.count; first += job.group) {
    const std::size_t end = job.count - first < job.group ? job.count : first + job.group;
    alignas(16) std::uint8_t table[16];
    fill_byte_table<target>(job.factors[first / kSlot], job.zero_points[first / kSlot], table);
    const Bytes bytes = byte_table(table);
    std::size_t i = first;
    for (; i + kByteBlock <= end; i += kByteBlock) look_up_bytes(bytes, job.q + i / 2, out + i);
    while (i < end) {
      const std::size_t count = end - i < kByteBlock ? end - i : kByteBlock;
      std::uint8_t rest[kByteBlock / 2] = {};
      std::uint8_t codes[kByteBlock];
      std::memcpy(rest, job.q + i / 2, (count + 1) / 2);
      look_up_bytes(bytes, rest, codes);
      std::memcpy(out + i, codes, count);
      i += count;
    }
  }
}

void int4_job(ElementFormat target, const DecodeJob& job) {
  if (target == ElementFormat::kE4m3) return int4_to_fp8_all<ElementFormat::kE4m3>(job);
  return int4_to_fp8_all<ElementFormat::kE5m2>(job);
}

}  // namespace
}  // namespace qsim::golden
