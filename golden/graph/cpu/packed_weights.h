// Weights in the order in which the tile kernels read them, with everything that can be known per
// output channel before an input arrives.
#pragma once

#include <vector>

#include "core/network/graph.h"
#include "golden/graph/cpu/vector_kernels.h"

namespace qsim::golden {

// The psums of one output pixel and one panel, aligned as the kernels want.
struct alignas(64) PsumRow {
  std::int32_t values[kPanelChannels];
};

// How a layer's psums become levels.
enum class OutputRule : std::uint8_t {
  kShifts,  // every psum + bias + rounding addend + zero_point fits int32 whatever the input is
  kScales,  // the same of requantizers: the vector kernels multiply psum + bias without overflow
  kWide,    // anything else: in 64 bits, one level at a time
};

struct PackedWeights {
  std::int64_t channels = 0;
  // The reduction is `parts` times as deep as the layer's own: weights of nine bits are the sum of
  // two or three parts of eight, and each part takes the same activations.
  std::size_t parts = 1;
  std::size_t depth = 0;            // parts * (kernel_h * kernel_w * input channels of a group)
  std::size_t quads = 0;            // ceil(depth / 4); the weights beyond depth are 0
  std::vector<std::int8_t> panels;  // [channels / 32][quads][32][4]
  std::vector<PsumRow> initial;     // per panel, where psums start
  OutputRule rule = OutputRule::kWide;
  std::vector<RoundingPanel> shifts;     // per panel, of kShifts
  std::vector<RequantizerPanel> scales;  // per panel, of kScales

  // `initial` holds -zero_point * sum(weights), and unless the rule is kWide the bias: then a
  // tile's psum is t itself.
  std::size_t panel_count() const { return initial.size(); }
  const std::int8_t* panel(std::size_t index) const {
    return panels.data() + index * quads * kPanelChannels * kQuad;
  }
};

// Some output channels of a layer: `count` from `first` on.
struct ChannelRange {
  std::int64_t first;
  std::int64_t count;
};

// Weights as parts of eight bits: row `co` of [Cout][...] is `parts` rows of `depth`, one after the
// other, and the parts of a weight add up to it. int8 weights have one part. Keeps the tensor.
struct WeightParts {
  std::vector<std::int8_t> copy;  // of int16 weights
  const std::int8_t* rows = nullptr;
  std::size_t depth = 0;
  std::size_t parts = 1;
};
WeightParts weight_parts(const Tensor& weights);

// The weights of some output channels of a layer whose input has this zero_point (of
// UnsignedActivations). `bias` and `requantization` are the whole layer's.
PackedWeights pack_weights(const WeightParts& weights, const Tensor& bias,
                           const Requantization& requantization, std::int32_t zero_point,
                           const ChannelRange& range);

}  // namespace qsim::golden
