#include "golden/real/real_arithmetic.h"
#include "golden/real/reference_layers.h"

namespace qsim::golden {

void reference_linear(const RealLinear& linear, const Tensor& x, Tensor& y) {
  const std::int64_t outputs = linear.weights.shape[0];
  const std::int64_t inputs = linear.weights.shape[1];
  const float* from = x.as<float>().data();
  float* to = y.as<float>().data();
  for (std::int64_t n = 0; n < x.shape[0]; ++n, from += inputs) {
    const float* weight = linear.weights.as<float>().data();
    for (std::int64_t co = 0; co < outputs; ++co) {
      ChunkedSum sum(linear.bias.as<float>()[size(co)]);
      for (std::int64_t k = 0; k < inputs; ++k) sum.add(from[k], *weight++);
      *to++ = canonical_nan(sum.finish());
    }
  }
}

}  // namespace qsim::golden
