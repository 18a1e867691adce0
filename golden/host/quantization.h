// What operators on levels share: a level means (level - zero_point) * scale.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "golden/host/host_call.h"

namespace qsim::golden {

struct LevelsScale {
  float scale = 1.0F;
  std::int32_t zero_point = 0;
  DType dtype = DType::kUint8;
};

struct LevelRange {
  double lo;
  double hi;
};
LevelRange level_range(DType dtype);

// rint(value) + zero_point within `range`; rint rounds half to even. What is not a number becomes
// the least level, as in ONNX Runtime.
inline std::int32_t saturated_level(double value, std::int32_t zero_point, LevelRange range) {
  const double lo = range.lo - zero_point;
  const double within = value > lo ? std::min(value, range.hi - zero_point) : lo;
  return static_cast<std::int32_t>(std::rint(within) + zero_point);
}
// The level of value / scale, the quotient in float32.
inline std::int32_t quantized_level(float value, const LevelsScale& to) {
  return saturated_level(static_cast<double>(value / to.scale), to.zero_point,
                         level_range(to.dtype));
}
inline float dequantized_level(std::int32_t level, const LevelsScale& from) {
  return static_cast<float>(level - from.zero_point) * from.scale;
}

// Refuses an input that is not of int8 or uint8.
void check_levels(const HostCall& call, std::size_t index);
// The type of an output whose zero_point is an input, or without one `fallback`.
DType level_type(const HostCall& call, std::size_t zero_point, DType fallback);

// In a run alone. The numbers of a scale or zero_point: one, or one for each of `channels`.
std::vector<float> scales_of(const HostCall& call, std::size_t index, std::int64_t channels);
std::vector<std::int32_t> zero_points_of(const HostCall& call, std::size_t index,
                                         std::int64_t channels);
// Of a tensor with one of each; no zero_point is 0.
LevelsScale quantization_of(const HostCall& call, std::size_t scale, std::size_t zero_point,
                            DType dtype);

// The levels of 8-bit inputs, and what they become.
std::vector<std::int32_t> levels_of(const Tensor& tensor);
// The byte of the output for each byte of the input.
using LevelTable = std::array<std::uint8_t, 256>;
template <typename Function>
LevelTable level_table(const LevelsScale& from, const LevelsScale& to, Function function) {
  LevelTable table{};
  for (std::int32_t byte = 0; byte < 256; ++byte) {
    const std::int32_t level = from.dtype == DType::kInt8 && byte > 127 ? byte - 256 : byte;
    table[static_cast<std::size_t>(byte)] =
        static_cast<std::uint8_t>(quantized_level(function(dequantized_level(level, from)), to));
  }
  return table;
}
// From one quantization to another; the byte itself where they are equal.
LevelTable requantizing_levels(const LevelsScale& from, const LevelsScale& to);

// What DynamicQuantizeLinear finds.
LevelsScale dynamic_quantization(std::span<const float> values);

// Operators of quantized_operators() in files of their own.
void run_qlinear_convolution(HostCall& call);
void run_integer_convolution(HostCall& call);
void run_qlinear_matmul(HostCall& call);
void run_integer_matmul(HostCall& call);
void run_integer_matmul_to_float(HostCall& call);
void run_dynamic_matmul(HostCall& call);
void run_dynamic_lstm(HostCall& call);
void run_qgemm(HostCall& call);
void run_qlinear_average_pool(HostCall& call);
void run_qlinear_global_average_pool(HostCall& call);
void run_qlinear_softmax(HostCall& call);

}  // namespace qsim::golden
