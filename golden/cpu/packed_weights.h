// Convolution weights in the order in which the tile kernels read them, with everything that can
// be known per output channel before an input arrives.
#pragma once

#include <vector>

#include "core/graph.h"
#include "golden/cpu/vector_kernels.h"

namespace qsim::golden {

// The psums of one output pixel and one panel, aligned as the kernels want.
struct alignas(64) PsumRow {
  std::int32_t values[kPanelChannels];
};

struct PackedWeights {
  std::int64_t channels = 0;
  std::size_t depth = 0;                // kernel_h * kernel_w * Cin
  std::size_t quads = 0;                // ceil(depth / 4); the weights beyond depth are 0
  std::vector<std::int8_t> panels;      // [channels / 32][quads][32][4]
  std::vector<PsumRow> initial;         // per panel, where psums start
  std::vector<RoundingPanel> rounding;  // per panel; used when narrow

  // Every channel's psum + bias + rounding addend + zero_point fits int32 whatever the input is.
  // Then `initial` holds bias - zero_point * sum(weights), and a tile's psum is t itself. When
  // not, `initial` lacks the bias, and t is computed in 64 bits.
  bool narrow = false;

  std::size_t panel_count() const { return initial.size(); }
  const std::int8_t* panel(std::size_t index) const {
    return panels.data() + index * quads * kPanelChannels * kQuad;
  }
};

PackedWeights pack_weights(const Conv2d& conv, const Value& input, const Value& output);

}  // namespace qsim::golden
