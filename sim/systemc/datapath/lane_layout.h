// Byte shuffles between the scratchpads' order and 32-bit lanes (array_operands.h), and the column
// sums of weights. They use AVX2, which every processor of a vector path has. x86-64 only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace qsim::sim {

enum class OperandFormat {
  kBiasedBytes,  // activations as u8 = carried + 128, weights as s8
  kSignedPairs,  // both as s16
};

// Lanes that copy_lane_run may write beyond its count.
inline constexpr std::size_t kLaneSlack = 16;

// to[i] = from[i] for i < count; may read and write up to kLaneSlack lanes more.
void copy_lane_run(const std::uint32_t* from, std::size_t count, std::uint32_t* to);

// `count` pixels of `word_bytes` bytes each: step s of pixel i goes to lanes[s * pitch + i].
void lay_pixels(const std::int8_t* words, std::size_t count, std::size_t word_bytes,
                OperandFormat format, std::size_t pitch, std::uint32_t* lanes);

// The weights of `count` output channels (4 or more), `word_bytes` bytes each: step s of channel i
// goes to lanes[s * count + i].
void lay_channels(const std::int8_t* words, std::size_t count, std::size_t word_bytes,
                  OperandFormat format, std::uint32_t* lanes);

// Rows of weights come `columns` bytes each, 4 (or 2) rows a step: byte b of step i, column c is
// weights[(4 i + b) * columns + c] and goes to lane i * columns + c.
void lay_weight_quads(const std::int8_t* weights, std::size_t steps, std::size_t columns,
                      std::uint32_t* lanes);
void lay_weight_pairs(const std::int8_t* weights, std::size_t steps, std::size_t columns,
                      std::uint32_t* lanes);
// sums[c] -= 128 * (all bytes of column c), lanes as lay_weight_quads left them.
void sub_weight_sums(const std::uint32_t* lanes, std::size_t steps, std::size_t columns,
                     std::uint32_t* sums);

}  // namespace qsim::sim
