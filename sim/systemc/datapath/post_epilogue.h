// What the implementations of one POST work on (post_kernel.h): its rule, and the parameters of its
// columns as vectors want them. No memory is read or written here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/machine/isa/adder_block.h"
#include "core/machine/isa/commands.h"
#include "core/numerics/requantize.h"

namespace qsim::sim {

// How a psum becomes a level: by the shift alone; by the multiplier and then the shift; or as
// float32 numbers do it, which is RequantizerRounding::kFloat32 by definition
// (docs/reference/numerics.md). The sum of psum and bias has 33 bits, so that the host's conversion
// to float32 rounds it once. Or two psums become one level: the exact sum, or one that is float32
// after each operand.
enum class PostRule : std::uint8_t { kShift, kMultiply, kFloat32, kSum, kSumFloat32 };

constexpr bool adds(PostRule rule) {
  return rule == PostRule::kSum || rule == PostRule::kSumFloat32;
}

// What requantize() needs of each column, all 64 bits wide so that vectors need no conversion; of
// kFloat32 the bias and the scale alone are set. The addend of core/numerics/requantize.h depends
// on its argument only through the lowest bit that the shift keeps: it is even_addend + (argument
// >> shift & odd_addend), where odd_addend is 0 or 1.
struct PostColumns {
  static constexpr std::size_t kMost = 256;  // array_cols

  alignas(64) std::array<std::int64_t, kMost> bias;
  alignas(64) std::array<std::int64_t, kMost> multiplier;
  alignas(64) std::array<std::int64_t, kMost> shift;
  alignas(64) std::array<std::int64_t, kMost> even_addend;
  alignas(64) std::array<std::int64_t, kMost> odd_addend;
  alignas(64) std::array<float, kMost> scale;  // multiplier / 2^shift, exactly
};

// What one POST works on.
struct PostEpilogue {
  const Post& post;
  const std::int32_t* psums;         // [in_rows][in_cols][columns]
  const std::int32_t* second_psums;  // likewise; of the sum rules
  const PostColumns& parameters;
  PsumAdder adder;
  const std::int8_t* table;  // null where POST has none
  PostRule rule;
  std::size_t columns;
  std::int8_t* out;  // [out_rows][out_cols][columns]
};

// Whether every output position is the input position with the same number.
constexpr bool is_position_by_position(const Post& post) {
  return post.pool_h == 1 && post.pool_w == 1 && post.pool_stride_h == 1 &&
         post.pool_stride_w == 1 && post.origin_row == 0 && post.origin_col == 0 &&
         post.out_cols == post.in_cols && post.out_rows <= post.in_rows;
}

// With AVX-512, 16 columns at a time. False, and nothing is done, where it has no code: for fewer
// columns, exact sums, and a constant of a sum that is not a float32. x86-64 only.
bool try_post_avx512(const PostEpilogue& epilogue);

}  // namespace qsim::sim
