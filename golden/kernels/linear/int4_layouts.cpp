#include "golden/kernels/linear/int4_layouts.h"

#include <array>
#include <string>

#include "core/base/error.h"

namespace qsim::golden {
namespace {

constexpr std::size_t kNumbers = 8;  // of a word
// Nibble i of a word of AWQ and Marlin has number kInterleaved[i] of its eight.
constexpr std::array<std::size_t, kNumbers> kInterleaved = {0, 2, 4, 6, 1, 3, 5, 7};

struct Place {
  std::size_t word;
  std::size_t nibble;
};

Place interleaved(std::size_t word, std::size_t number) {
  return {word, number % 2 * 4 + number / 2};  // the inverse of kInterleaved
}
static_assert(kInterleaved[1 % 2 * 4 + 1 / 2] == 1 && kInterleaved[6 % 2 * 4 + 6 / 2] == 6);

// A block of 16 input features and 64 output channels has 128 words, four for each of 32 threads:
// the operands of a tensor core's 16x16 tiles, thread t with column t / 4 of both halves of a tile
// and rows 2 (t % 4), + 1, + 8, + 9.
Place marlin_place(std::size_t n, std::size_t k, std::size_t channels) {
  const std::size_t row = k % 16;
  const std::size_t column = n % 16;
  const std::size_t thread = column % 8 * 4 + row % 8 / 2;
  const std::size_t number = column / 8 * 4 + row / 8 * 2 + row % 2;
  const std::size_t word = k / 16 * 2 * channels + n / 64 * 128 + thread * 4 + n % 64 / 16;
  return interleaved(word, number);
}

Place weight_place(Int4Layout layout, std::size_t n, std::size_t k, std::size_t channels) {
  switch (layout) {
    case Int4Layout::kGptq:
    case Int4Layout::kGptqV2:
      return {k / kNumbers * channels + n, k % kNumbers};
    case Int4Layout::kAwq:
      return interleaved((k * channels + n) / kNumbers, n % kNumbers);
    case Int4Layout::kMarlin:
      return marlin_place(n, k, channels);
  }
  return {0, 0};
}

Place zero_place(Int4Layout layout, std::size_t n, std::size_t group, std::size_t channels) {
  const std::size_t word = (group * channels + n) / kNumbers;
  return layout == Int4Layout::kAwq ? interleaved(word, n % kNumbers) : Place{word, n % kNumbers};
}

std::size_t scale_place(Int4Layout layout, std::size_t n, std::size_t group, std::size_t channels,
                        bool grouped) {
  std::size_t place = n;
  if (layout == Int4Layout::kMarlin && grouped) {
    place = n / 64 * 64 + n % 8 * 8 + n % 64 / 8;
  } else if (layout == Int4Layout::kMarlin) {
    place = n / 32 * 32 + n % 8 / 2 * 8 + n % 32 / 8 * 2 + n % 2;
  }
  return group * channels + place;
}

int stored_offset(Int4Layout layout) { return layout == Int4Layout::kGptq ? 1 : 0; }

void check_sizes(Int4Layout layout, std::int64_t out_features, std::int64_t in_features) {
  const bool marlin = layout == Int4Layout::kMarlin;
  const std::int64_t n_unit = marlin ? 64 : 8;
  const std::int64_t k_unit = marlin ? 16 : 8;
  if (out_features % n_unit == 0 && in_features % k_unit == 0) return;
  throw_bad_input("linear: 4-bit weights [" + std::to_string(out_features) + ", " +
                  std::to_string(in_features) + "]; the layout has multiples of " +
                  std::to_string(n_unit) + " output channels and of " + std::to_string(k_unit) +
                  " input features");
}

void check_tensor(const char* name, std::size_t found, std::size_t expected) {
  if (found == expected) return;
  throw_bad_input("linear: " + std::string(name) + " has " + std::to_string(found) +
                  " numbers; the layout has " + std::to_string(expected));
}

int nibble_at(const std::vector<std::int32_t>& words, Place place) {
  return static_cast<int>(static_cast<std::uint32_t>(words[place.word]) >> (4 * place.nibble) & 15);
}

void set_nibble(std::vector<std::int32_t>& words, Place place, int number) {
  const auto bits = static_cast<std::uint32_t>(number) << (4 * place.nibble);
  words[place.word] =
      static_cast<std::int32_t>(static_cast<std::uint32_t>(words[place.word]) | bits);
}

void check_groups(const Int4Tensors& tensors, const LinearWeights& weights) {
  if (tensors.group_index.empty()) return;
  const auto elems = static_cast<std::size_t>(weights.group_elems());
  check_tensor("group_index", tensors.group_index.size(),
               static_cast<std::size_t>(weights.in_features));
  for (std::size_t k = 0; k < tensors.group_index.size(); ++k) {
    if (tensors.group_index[k] == static_cast<std::int32_t>(k / elems)) continue;
    throw_bad_input("linear: input feature " + std::to_string(k) + " is in group " +
                    std::to_string(tensors.group_index[k]) +
                    "; only groups in ascending order are supported");
  }
}

}  // namespace

LinearWeights read_int4(Int4Layout layout, const Int4Tensors& tensors, std::int64_t out_features,
                        std::int64_t in_features, std::int64_t group_size) {
  LinearWeights weights;
  weights.out_features = out_features;
  weights.in_features = in_features;
  weights.group_size = group_size;
  weights.bits = 4;
  const auto channels = static_cast<std::size_t>(out_features);
  const auto features = static_cast<std::size_t>(in_features);
  const auto groups = static_cast<std::size_t>(group_size < 0 ? 1 : weights.groups());
  weights.values.resize(channels * features);
  weights.scales.resize(channels * groups);
  weights.zero_points.resize(channels * groups, 8);
  check_weights(weights);
  check_sizes(layout, out_features, in_features);
  const bool marlin = layout == Int4Layout::kMarlin;
  check_tensor("qweight", tensors.qweight.size(), channels * features / kNumbers);
  check_tensor("qzeros", tensors.qzeros.size(), marlin ? 0 : channels * groups / kNumbers);
  check_tensor("scales", tensors.scales.size(), channels * groups);
  check_groups(tensors, weights);
  for (std::size_t n = 0; n < channels; ++n) {
    for (std::size_t k = 0; k < features; ++k) {
      weights.values[n * features + k] = static_cast<std::int8_t>(
          nibble_at(tensors.qweight, weight_place(layout, n, k, channels)));
    }
    for (std::size_t group = 0; group < groups; ++group) {
      const std::size_t at = scale_place(layout, n, group, channels, groups > 1);
      weights.scales[n * groups + group] = float_of(decode<kFp16>(tensors.scales[at]));
      if (marlin) continue;
      const int stored = nibble_at(tensors.qzeros, zero_place(layout, n, group, channels));
      weights.zero_points[n * groups + group] =
          static_cast<std::uint8_t>(stored + stored_offset(layout));
    }
  }
  return weights;
}

Int4Tensors write_int4(Int4Layout layout, const LinearWeights& weights) {
  check_weights(weights);
  if (weights.bits != 4) {
    throw_bad_input("linear: weights of 8 bits; the layout has 4-bit weights");
  }
  check_sizes(layout, weights.out_features, weights.in_features);
  const auto channels = static_cast<std::size_t>(weights.out_features);
  const auto features = static_cast<std::size_t>(weights.in_features);
  const auto groups = static_cast<std::size_t>(weights.groups());
  const bool marlin = layout == Int4Layout::kMarlin;
  const int least = marlin ? 8 : stored_offset(layout);
  const int most = marlin ? 8 : 15 + stored_offset(layout);
  Int4Tensors tensors;
  tensors.qweight.resize(channels * features / kNumbers);
  tensors.qzeros.resize(marlin ? 0 : channels * groups / kNumbers);
  tensors.scales.resize(channels * groups);
  for (std::size_t n = 0; n < channels; ++n) {
    for (std::size_t k = 0; k < features; ++k) {
      set_nibble(tensors.qweight, weight_place(layout, n, k, channels),
                 weights.values[n * features + k] & 15);
    }
    for (std::size_t group = 0; group < groups; ++group) {
      const std::size_t from = n * groups + group;
      const std::uint32_t bits = bits_of(weights.scales[from]);
      const std::uint32_t scale = encode<kFp16>(bits);
      const int zero_point = weights.zero_points[from];
      if (decode<kFp16>(scale) != bits) {
        throw_bad_input("linear: scale[" + std::to_string(n) + ", " + std::to_string(group) +
                        "] is no FP16 number; the layout has FP16 scales");
      }
      if (zero_point < least || zero_point > most) {
        throw_bad_input("linear: zero_point[" + std::to_string(n) + ", " + std::to_string(group) +
                        "] is " + std::to_string(zero_point) + "; the layout has " +
                        std::to_string(least) + " to " + std::to_string(most));
      }
      const std::size_t at = scale_place(layout, n, group, channels, groups > 1);
      tensors.scales[at] = static_cast<std::uint16_t>(scale);
      if (marlin) continue;
      set_nibble(tensors.qzeros, zero_place(layout, n, group, channels),
                 zero_point - stored_offset(layout));
    }
  }
  return tensors;
}

}  // namespace qsim::golden
