// The adder block: what a parameter slot holds for a POST that adds, with the same bytes in DRAM.
// commands.h has the bits (LOAD, memory 2) and the arithmetic; here they are written, read and
// used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/numerics/adder.h"

namespace qsim {

inline constexpr std::int64_t kAdderBlockBytes = 16;

// The adder of two psum tiles. Psums carry levels: a uint8 level u is the psum u - 128.
struct PsumAdder {
  Adder adder;
  bool a_is_unsigned = false;
  bool b_is_unsigned = false;

  friend bool operator==(const PsumAdder&, const PsumAdder&) = default;
};

// Writes the first kAdderBlockBytes of `block`. The adder is one of adder_of(). The rounding is
// not written: it is POST's.
void write_adder(std::span<std::byte> block, const PsumAdder& adder);
// Reads any bytes as the hardware does: unused bits are ignored, and a constant has 58 bits.
PsumAdder read_adder(std::span<const std::byte> block, RequantizerRounding rounding);

// POST's zero_point for an addition whose output tensor has this zero_point. For kFloat32 the
// adder's constant has it already, so that only the carried form of the level is left.
constexpr std::int32_t sum_zero_point(RequantizerRounding rounding, std::int32_t zero_point,
                                      bool is_unsigned) {
  return carried(rounding == RequantizerRounding::kFloat32 ? 0 : zero_point, is_unsigned);
}

// The level that a psum carries: of any psum the low 8 bits alone.
constexpr std::int32_t level_of_psum(std::int32_t psum, bool is_unsigned) {
  return static_cast<std::int8_t>(psum) + (is_unsigned ? 128 : 0);
}

// One channel of POST with `add`: add_levels() with POST's carried zero_point, lo and hi.
constexpr std::int32_t add_psums(std::int32_t a, std::int32_t b, const PsumAdder& adder,
                                 std::int32_t zero_point, std::int32_t lo, std::int32_t hi) {
  return add_levels(level_of_psum(a, adder.a_is_unsigned), level_of_psum(b, adder.b_is_unsigned),
                    adder.adder, 0, lo - zero_point, hi - zero_point) +
         zero_point;
}

}  // namespace qsim
