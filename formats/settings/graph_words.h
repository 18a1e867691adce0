// The words that YAML files use for the enumerations of a Graph, in the order of their values, and
// for its numbers.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "core/network/graph.h"

namespace qsim::formats {

inline constexpr std::array<std::string_view, kRoundingModes> kRoundingWords = {
    "floor", "half_even", "half_up", "half_away", "toward_zero"};
inline constexpr std::array<std::string_view, 2> kActivationDTypeWords = {"int8", "uint8"};
inline constexpr std::array<std::string_view, kRequantizerRoundings> kRequantizerRoundingWords = {
    "floor", "half_even", "half_up", "float32", "tflite", "tflite_single"};
// The names of the operations of integers, in the order of Operation.
inline constexpr auto kOperationWords = [] {
  constexpr auto kCount = std::ranges::count_if(kOperationRows, &OperationRow::takes_integers);
  std::array<std::string_view, kCount> words;
  std::size_t next = 0;
  for (const OperationRow& row : kOperationRows) {
    if (row.takes_integers) words[next++] = row.name;
  }
  return words;
}();
inline constexpr std::array<std::string_view, 2> kFlattenOrderWords = {"chw", "hwc"};
inline constexpr std::array<std::string_view, 2> kLayoutWords = {"nhwc", "nchw"};

template <typename Enum, std::size_t count>
constexpr std::string_view word_of(const std::array<std::string_view, count>& words, Enum value) {
  return words[static_cast<std::size_t>(value)];
}

// What `inputs` of a layer calls the network's input.
inline constexpr std::string_view kInputName = "input";

// A layer trace gives other scales as numbers.
inline constexpr int kMaxScaleExponent = 126;

// The fewest digits that give the same float32 again: at most 9.
std::string scale_text(Scale scale);

// A requantizer's scale: a float32 as above; of TensorFlow Lite's roundings the fewest digits that
// give the same double again, which is 0 or a number of 31 bits.
std::string requantizer_scale_text(const Requantizer& requantizer);

}  // namespace qsim::formats
