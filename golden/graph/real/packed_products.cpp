#include "golden/graph/real/packed_products.h"

namespace qsim::golden {

PackedProducts::PackedProducts(const float* weights, std::int64_t outputs, std::int64_t depth,
                               std::size_t lanes)
    : outputs_(static_cast<std::size_t>(outputs)),
      depth_(static_cast<std::size_t>(depth)),
      lanes_(lanes),
      vectors_((outputs_ + lanes - 1) / lanes),
      packed_(vectors_ * lanes * depth_) {
  float* to = packed_.data();
  for (std::size_t panel = 0; panel < panels(); ++panel) {
    const std::size_t first = channels_before(panel);
    const std::size_t width = vectors(panel) * lanes;
    for (std::size_t k = 0; k < depth_; ++k) {
      for (std::size_t c = first; c < first + width; ++c) {
        *to++ = c < outputs_ ? weights[c * depth_ + k] : 0.0F;
      }
    }
  }
}

}  // namespace qsim::golden
