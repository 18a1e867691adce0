// The rule that keeps a test from passing on a dead network: an ofmap of 64 or more elements has at
// least 32 distinct values, and at most a quarter of its values at either clamp.
#pragma once

#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "core/network/graph.h"

namespace qsim {

struct OfmapStatistics {
  std::int64_t count = 0;
  std::int64_t distinct = 0;
  double at_low_clamp = 0;  // fractions
  double at_high_clamp = 0;
};

// `low` is the smallest value that can occur: zero_point after a ReLU, else the dtype's.
inline OfmapStatistics ofmap_statistics(const Tensor& ofmap, const Value& value, std::int32_t low) {
  std::array<std::int64_t, 256> histogram{};
  for (const std::byte byte : ofmap.bytes) {
    const auto bits = std::to_integer<std::uint8_t>(byte);
    const int q = value.is_unsigned() ? bits : static_cast<std::int8_t>(bits);
    ++histogram[static_cast<std::size_t>(q - value.min())];
  }
  OfmapStatistics statistics;
  statistics.count = static_cast<std::int64_t>(ofmap.bytes.size());
  statistics.distinct = 256 - std::count(histogram.begin(), histogram.end(), 0);
  const auto count = static_cast<double>(statistics.count);
  const auto low_bin = static_cast<std::size_t>(low - value.min());
  statistics.at_low_clamp = static_cast<double>(histogram[low_bin]) / count;
  statistics.at_high_clamp = static_cast<double>(histogram[255]) / count;
  return statistics;
}

struct OfmapLimits {
  std::int64_t distinct = 32;
  double at_clamp = 0.25;
};

// Checks every ofmap of `graph` against the limits.
inline void expect_living_ofmaps(const Graph& graph, const std::vector<Tensor>& ofmaps,
                                 const OfmapLimits& limits = {}) {
  ASSERT_EQ(ofmaps.size(), graph.layers.size());
  std::vector<bool> is_rectified(graph.tensors.size(), false);
  for (std::size_t i = 0; i < ofmaps.size(); ++i) {
    const Layer& layer = graph.layers[i];
    const Value& output = graph.output_of(i);
    const std::string_view operation = operation_name(layer.operation);
    const bool has_weights = operation == "conv2d" || operation == "fully_connected";
    const bool is_new = has_weights || operation == "add" || operation == "lookup_table";
    const bool rectified = operation == "relu" || (!is_new && is_rectified[layer.inputs[0]]);
    is_rectified[layer.output] = rectified;
    const std::int32_t low = rectified ? output.zero_point : output.min();
    const OfmapStatistics found = ofmap_statistics(ofmaps[i], output, low);
    if (found.count < 64) continue;
    EXPECT_GE(found.distinct, limits.distinct) << graph.name << " " << layer.name;
    EXPECT_LE(found.at_low_clamp, limits.at_clamp) << graph.name << " " << layer.name;
    EXPECT_LE(found.at_high_clamp, limits.at_clamp) << graph.name << " " << layer.name;
  }
}

}  // namespace qsim
