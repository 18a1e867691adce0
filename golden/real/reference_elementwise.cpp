#include "core/float_rules.h"
#include "golden/real/real_arithmetic.h"
#include "golden/real/reference_layers.h"

namespace qsim::golden {

void reference_add(const Tensor& a, const Tensor& b, Tensor& y) {
  const std::span<float> to = y.as<float>();
  for (std::size_t i = 0; i < to.size(); ++i) {
    to[i] = canonical_nan(a.as<float>()[i] + b.as<float>()[i]);
  }
}

void reference_activation(const RealActivation& activation, const Tensor& x, Tensor& y) {
  const std::span<float> to = y.as<float>();
  for (std::size_t i = 0; i < to.size(); ++i) {
    to[i] = canonical_nan(activated(activation, x.as<float>()[i]));
  }
}

}  // namespace qsim::golden
