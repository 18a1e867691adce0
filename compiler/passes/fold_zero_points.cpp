// Pass 2: folds the input's zero_point into the bias, and checks that no partial sum can leave
// int32.
#include <algorithm>
#include <cstdlib>
#include <limits>

#include "compiler/passes/passes.h"

namespace qsim::compiler {
namespace {

constexpr std::int64_t kInt32Max = std::numeric_limits<std::int32_t>::max();

// What the weights of one output channel can add up to, for carried inputs in [-128, 127].
struct ChannelSums {
  std::int64_t sum = 0;      // of the weights
  std::int64_t highest = 0;  // largest partial sum over any subset of the products
  std::int64_t lowest = 0;   // smallest
};

ChannelSums bounds_of(std::int64_t sum, std::int64_t magnitude) {
  const std::int64_t positive = (magnitude + sum) / 2;
  const std::int64_t negative = (sum - magnitude) / 2;
  return {positive + negative, 127 * positive - 128 * negative, -128 * positive + 127 * negative};
}

// The parts of a wide weight have its sign, so they bound partial sums as the weight does.
ChannelSums channel_sums(std::span<const std::int16_t> weights) {
  std::int64_t sum = 0;
  std::int64_t magnitude = 0;
  for (const std::int64_t w : weights) {
    sum += w;
    magnitude += w < 0 ? -w : w;
  }
  return bounds_of(sum, magnitude);
}

ChannelSums channel_sums(std::span<const std::int8_t> weights) {
  // In pieces whose sums fit narrow integers: the compiler makes vector code of them.
  constexpr std::size_t kPiece = 128;
  std::int64_t sum = 0;
  std::int64_t magnitude = 0;
  for (std::size_t begin = 0; begin < weights.size(); begin += kPiece) {
    std::int16_t piece_sum = 0;
    std::int16_t piece_magnitude = 0;
    for (const std::int8_t w : weights.subspan(begin, std::min(kPiece, weights.size() - begin))) {
      piece_sum = static_cast<std::int16_t>(piece_sum + w);
      piece_magnitude = static_cast<std::int16_t>(piece_magnitude + (w < 0 ? -w : w));
    }
    sum += piece_sum;
    magnitude += piece_magnitude;
  }
  return bounds_of(sum, magnitude);
}

void fold(FusedLayer& layer, std::size_t channel, const ChannelSums& sums) {
  const std::int64_t folded = layer.bias[channel] - layer.pad_value * sums.sum;
  if (folded > kInt32Max || folded < -kInt32Max - 1) {
    throw_unsupported(layer_place(layer.name, layer.source) + ": bias of output channel " +
                      std::to_string(channel) + " becomes " + std::to_string(folded) +
                      " with the input zero_point folded in; it must fit int32");
  }
  const std::int64_t bound = std::max(sums.highest, -sums.lowest) + std::abs(folded);
  if (bound > kInt32Max) {
    throw_unsupported(layer_place(layer.name, layer.source) + ": psums of output channel " +
                      std::to_string(channel) + " can reach " + std::to_string(bound) +
                      "; they must stay below 2^31");
  }
  layer.bias[channel] = static_cast<std::int32_t>(folded);
}

}  // namespace

void fold_zero_points(std::vector<FusedLayer>& layers) {
  Refusals refusals;
  fold_zero_points(layers, refusals);
  throw_refusals(refusals);
}

void fold_zero_points(std::vector<FusedLayer>& layers, Refusals& refusals) {
  for (FusedLayer& layer : layers) {
    const bool has_weights = layer.kind == FusedLayer::Kind::kConvolution ||
                             layer.kind == FusedLayer::Kind::kFullyConnected;
    if (!has_weights) continue;
    const std::size_t all = layer.weights.size() + layer.wide_weights.size();  // one is empty
    const std::size_t each = all / layer.bias.size();
    // The first channel that leaves int32 speaks for its layer.
    collect_refusal(refusals, [&] {
      for (std::size_t c = 0; c < layer.bias.size(); ++c) {
        fold(layer, c,
             layer.weights.empty() ? channel_sums(layer.wide_weights.subspan(c * each, each))
                                   : channel_sums(layer.weights.subspan(c * each, each)));
      }
    });
  }
}

}  // namespace qsim::compiler
