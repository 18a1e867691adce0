// Weights as the vector kernels read them: panels of two vectors of output channels (the last may
// have one), each [depth][width of the panel]. Lanes without a channel have weight 0.
#pragma once

#include <cstdint>

#include "golden/graph/real/aligned_array.h"

namespace qsim::golden {

class PackedProducts {
 public:
  // `weights` are [outputs][depth]; `lanes` of a vector.
  PackedProducts(const float* weights, std::int64_t outputs, std::int64_t depth, std::size_t lanes);

  std::size_t outputs() const { return outputs_; }
  std::size_t depth() const { return depth_; }
  std::size_t panels() const { return (vectors_ + 1) / 2; }
  std::size_t vectors(std::size_t panel) const { return 2 * panel + 2 <= vectors_ ? 2 : 1; }
  // Output channels, lanes without a channel among them, before a panel.
  std::size_t channels_before(std::size_t panel) const {
    const std::size_t vectors = 2 * panel < vectors_ ? 2 * panel : vectors_;
    return vectors * lanes_;
  }
  // From product k on.
  const float* weights(std::size_t panel, std::size_t k) const {
    return packed_.data() + channels_before(panel) * depth_ + k * vectors(panel) * lanes_;
  }

 private:
  std::size_t outputs_;
  std::size_t depth_;
  std::size_t lanes_;
  std::size_t vectors_;
  AlignedArray<float> packed_;
};

}  // namespace qsim::golden
