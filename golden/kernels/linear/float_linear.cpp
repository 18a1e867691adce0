#include "golden/kernels/linear/float_linear.h"

#include <algorithm>

#include "core/base/error.h"

namespace qsim::golden {
namespace {

constexpr std::size_t kLanes = 64;  // partial sums: four vectors of the widest set

// The body of each set's function, compiled with its instructions.
[[gnu::always_inline]] inline float dot_body(const float* x, const float* w, std::size_t count) {
  float sums[kLanes] = {};
  std::size_t k = 0;
  for (; k + kLanes <= count; k += kLanes) {
    for (std::size_t i = 0; i < kLanes; ++i) sums[i] += x[k + i] * w[k + i];
  }
  for (std::size_t width = kLanes / 2; width > 0; width /= 2) {
    for (std::size_t i = 0; i < width; ++i) sums[i] += sums[i + width];
  }
  float sum = sums[0];
  for (; k < count; ++k) sum += x[k] * w[k];
  return sum;
}

using Dot = float (*)(const float*, const float*, std::size_t);

float dot_portable(const float* x, const float* w, std::size_t count) {
  return dot_body(x, w, count);
}
#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) float dot_avx2(const float* x, const float* w,
                                                   std::size_t count) {
  return dot_body(x, w, count);
}
__attribute__((target("avx512f"))) float dot_avx512(const float* x, const float* w,
                                                    std::size_t count) {
  return dot_body(x, w, count);
}
#endif

Dot dot_of(VectorPath path) {
  require_available(path);
  switch (resolve(path)) {
#if defined(__x86_64__)
    case VectorPath::kAvx512Vnni:
      return dot_avx512;
    case VectorPath::kAvxVnni:
    case VectorPath::kAvx2:
      return dot_avx2;
#endif
    default:
      return dot_portable;
  }
}

}  // namespace

FloatMatrix float_linear(const FloatMatrix& x, std::span<const float> weights,
                         std::span<const float> bias, VectorPath path, ThreadTeam& team) {
  const Dot dot = dot_of(path);
  const auto depth = static_cast<std::size_t>(x.columns);
  const auto rows = static_cast<std::size_t>(x.rows);
  const std::size_t channels = weights.size() / depth;
  QSIM_CHECK(weights.size() == channels * depth, "the weights do not fill [N, K]");
  std::vector<float> floats(rows * depth);
  for (std::size_t i = 0; i < floats.size(); ++i) floats[i] = float_of(x.fp32_bits(i));
  FloatMatrix y(FloatType::kFloat32, x.rows, static_cast<std::int64_t>(channels));
  const std::size_t parts = std::min(channels, static_cast<std::size_t>(8 * team.threads()));
  team.run(parts, [&](std::size_t part) {
    for (std::size_t n = channels * part / parts; n < channels * (part + 1) / parts; ++n) {
      for (std::size_t m = 0; m < rows; ++m) {
        const float sum = dot(floats.data() + m * depth, weights.data() + n * depth, depth);
        y.set(m * channels + n, bits_of(bias.empty() ? sum : sum + bias[n]));
      }
    }
  });
  return y;
}

}  // namespace qsim::golden
