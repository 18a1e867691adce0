// The four commands as C++ structs, one per unit, and their meaning as pseudo-code. The fields
// come from command_table.h.
//
// R = array_rows, C = array_cols, B = max(R, C), bus = bus_bytes. All units start their commands
// in order. A command starts when its unit is free and every semaphore in wait_mask is above zero
// (each is then lowered by one); when it is done every semaphore in signal_mask is raised by one.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <variant>

#include "core/machine/isa/command_table.h"

namespace qsim {

#define QSIM_U_MEMBER(name, bits, doc) std::uint32_t name = 0;
#define QSIM_S_MEMBER(name, bits, doc) std::int32_t name = 0;

// for (g < groups) for (r < runs)
//   for (b < run_bytes) stream << dram[dram_addr + g * group_stride + r * run_stride + b]
// The stream is cut into words, i = 0, 1, ...:
//   memory 0: word i (R bytes) goes to act[local_addr + deinterleave(i)]; with s = B / R words a
//     pixel and P = plane_words:  deinterleave(i) = i / (s P) * s P + i % s * P + i / s % P
//     (R bytes of a pixel's B-byte block each go to a plane of their own; s = 1 where R >= C).
//   memory 1: word i (B bytes) goes to weight[local_addr + i].
//   memory 2: byte i of parameter slot local_addr, little-endian.
//     requantizer: shift   C int32 biases, then C shifts (the low five bits of a byte each)
//     requantizer: dyadic  8 bytes a channel: bits 31..0 bias, 55..32 multiplier, 61..56 shift;
//                          bits 63..62 are ignored
//     One run: groups = runs = 1, run_bytes = 5 C, or 8 C where dyadic.
//     For POSTs that add, a dyadic slot begins with an adder block instead:
//       bytes 0..3   operand a: bits 23..0 multiplier, 28..24 left shift (24 to 31 mean 16 to 23),
//                    31: its levels are psums + 128; bits 30..29 are ignored
//       bytes 4..7   operand b, likewise
//       bytes 8..15  bits 57..0: the constant, signed; bits 63..58 are ignored
//     The other bytes of the slot are ignored.
//   memory 3, requantizer: dyadic alone: byte i of table slot local_addr.
//     One run: groups = runs = 1, run_bytes = 256.
struct Load {
  QSIM_LOAD_FIELDS(QSIM_U_MEMBER, QSIM_S_MEMBER)
  bool operator==(const Load&) const = default;
};

// F = min(R, C): weight words of a fold.  pixels = out_rows * out_cols.
// fold = 0
// for (p < planes) for (ky < kernel_h) for (kx < kernel_w), fold++:
//   for (b < blocks):
//     bytes = the R * C bytes of weight[weight_addr + (fold * blocks + b) * F], F words
//     w[r][c] = dataflow == 2 ? bytes[c * R + r] : bytes[r * C + c]
//     for (oy < out_rows) for (ox < out_cols), i = oy * out_cols + ox:
//       iy = oy * stride_h + ky + origin_row;  ix = ox * stride_w + kx + origin_col
//       x = 0 <= iy < in_rows && 0 <= ix < in_cols
//         ? act[act_addr + p * act_plane_words + iy * act_row_words + ix] : {pad_value, ...}
//       for (c < C):
//         psum = sum over r < R of x[r] * w[r][c]                                (int32, wraps)
//         a = acc[acc_half][acc_addr + b * pixels + i][c]
//         a = (fold == 0 && !accumulate) ? psum : a + psum                       (int32, wraps)
//
// The sum wraps, so its order does not matter, and no dataflow changes a result. A dataflow says
// what the PEs keep, what streams (one vector a cycle), and in which order; so it sets the time,
// and the layout of the weights:
//   dataflow              kept in the PEs               streams                 weights of a fold
//   0 weight_stationary   R x C weights of a fold       pixels: R activations   [r][c]
//   1 output_stationary   psums: R pixels, C channels   elements of the         [r][c]
//                                                       reduction: R activations,
//                                                       one of each pixel, and
//                                                       C weights
//   2 input_stationary    activations: R elements of    output channels:        [c][r]
//                         C pixels                      R weights
// Loops from outer to inner: 0: fold, pixel. 1: group of R pixels, fold, element. 2: group of C
// pixels, fold, block, channel. So 0 writes an accumulator word once a fold, 1 once a command.
struct Execute {
  QSIM_EXECUTE_FIELDS(QSIM_U_MEMBER, QSIM_S_MEMBER)
  bool operator==(const Execute&) const = default;
};

// for (oy < out_rows) for (ox < out_cols), i = oy * out_cols + ox:
//   best = lookup ? -128 : lo for every channel
//   for (ky < pool_h) for (kx < pool_w):              (1 + add beats each, absent or not)
//     iy = oy * pool_stride_h + ky + origin_row;  ix = ox * pool_stride_w + kx + origin_col
//     if (0 <= iy < in_rows && 0 <= ix < in_cols) for (c < C):
//       p = acc[acc_half][acc_addr + iy * in_cols + ix][c]
//       p_a = acc[second_half][second_addr + iy * in_cols + ix][c]
//       q = add ? sum(p_a, p) : requantize(p, bias[c], scale[c], zero_point, lo, hi)
//       best[c] = max(best[c], lookup ? table[param_slot][q & 255] : q)
//   out[out_addr + i] = best                                 (C bytes)
// scale[c] is {shift[c], rounding} of core/numerics/requantize.h; with `requantizer: dyadic`
// {multiplier[c], shift[c], rounding} of core/numerics/requantizer.h, where any 24 bits are a
// multiplier. The entries of a table are int8, carried.
//
// sum(p_a, p_b), with the adder block of the slot, is the same for every channel:
//   level_x = the low 8 bits of p_x as int8, + 128 where bit 31 of operand x's word is set
//   ratio_x = multiplier << shift, in units of 2^-39
//   float32: s = F(level_a * ratio_a + F(level_b * ratio_b + constant)); F(n) is n to 24
//     significant bits, nearest, ties to even;  level = s / 2^39, nearest, ties to even
//   other roundings: level = (level_a * ratio_a + level_b * ratio_b + constant) / 2^39, rounded
//   q = clamp(level + zero_point, lo, hi)
// That is add_levels() of core/numerics/adder.h, for every bit pattern of psums and block.
struct Post {
  QSIM_POST_FIELDS(QSIM_U_MEMBER, QSIM_S_MEMBER)
  bool operator==(const Post&) const = default;
};

// stream = out[out_addr], out[out_addr + 1], ... (C bytes each)
// for (g < groups) for (r < runs)
//   for (b < run_bytes) dram[dram_addr + g * group_stride + r * run_stride + b] << stream
// Done when the last write response has come back.
struct Store {
  QSIM_STORE_FIELDS(QSIM_U_MEMBER, QSIM_S_MEMBER)
  bool operator==(const Store&) const = default;
};

#undef QSIM_U_MEMBER
#undef QSIM_S_MEMBER

// The units, in the order of the variant below, of `opcode`, and of the way of a byte.
enum class Unit : std::uint8_t { kLoad, kExecute, kPost, kStore };
inline constexpr auto kExecuteUnit = static_cast<std::size_t>(Unit::kExecute);  // indices by unit
inline constexpr auto kStoreUnit = static_cast<std::size_t>(Unit::kStore);
inline constexpr std::size_t kUnits = 4;
inline constexpr std::array<std::string_view, kUnits> kUnitNames = {"load", "execute", "post",
                                                                    "store"};

enum class LoadMemory : std::uint8_t { kActivation = 0, kWeight = 1, kParameter = 2, kTable = 3 };

// What reports tell apart of LOADs: tables count as parameters.
inline constexpr std::size_t kLoadMemories = 3;
constexpr std::size_t reported_memory(std::uint32_t memory) {
  return memory < kLoadMemories ? memory : kLoadMemories - 1;
}

// A table of POST has an entry for each level.
inline constexpr std::int64_t kTableBytes = 256;

inline constexpr std::size_t kSemaphores = 16;
inline constexpr int kSemaphoreBits = 4;
inline constexpr int kSemaphoreMax = (1 << kSemaphoreBits) - 1;

// EXECUTE's dataflow.
enum class Dataflow : std::uint8_t {
  kWeightStationary = 0,
  kOutputStationary = 1,
  kInputStationary = 2,
};
inline constexpr std::size_t kDataflows = 3;
inline constexpr std::array<std::string_view, kDataflows> kDataflowNames = {
    "weight_stationary", "output_stationary", "input_stationary"};
inline constexpr std::array<std::string_view, kDataflows> kShortDataflowNames = {"ws", "os", "is"};

// What POST's pool_h, pool_w, pool_stride_h and pool_stride_w may be; their fields could hold more.
inline constexpr int kMostPoolWindow = 4;

struct Command {
  std::uint16_t wait_mask = 0;
  std::uint16_t signal_mask = 0;
  std::variant<Load, Execute, Post, Store> fields;

  Unit unit() const { return static_cast<Unit>(fields.index()); }
  bool operator==(const Command&) const = default;
};

}  // namespace qsim
