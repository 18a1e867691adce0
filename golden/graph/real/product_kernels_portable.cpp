// The kernels for every processor: arrays for vectors, std::fma for their multiply-add.
#include <array>
#include <cmath>

#include "golden/graph/real/product_kernels.h"
#include "golden/graph/real/real_arithmetic.h"

#define QSIM_VECTOR

namespace qsim::golden {
namespace {

constexpr std::size_t kLanes = 4;
constexpr int kTileRows = 4;
using Floats = std::array<float, kLanes>;

template <typename Function>
inline Floats lanes_of(Function value) {
  return {value(0), value(1), value(2), value(3)};
}
inline Floats every(float value) { return {value, value, value, value}; }
inline Floats load_some(const float* from, std::size_t lanes) {
  Floats x{};
  for (std::size_t i = 0; i < lanes; ++i) x[i] = from[i];
  return x;
}
inline void store_some(float* to, const Floats& x, std::size_t lanes) {
  for (std::size_t i = 0; i < lanes; ++i) to[i] = x[i];
}
inline Floats load(const float* from) { return load_some(from, kLanes); }
inline void store(float* to, const Floats& x) { store_some(to, x, kLanes); }
inline Floats add(const Floats& a, const Floats& b) {
  return lanes_of([&](std::size_t i) { return a[i] + b[i]; });
}
inline Floats multiply_add(const Floats& a, const Floats& b, const Floats& c) {
  return lanes_of([&](std::size_t i) { return std::fma(a[i], b[i], c[i]); });
}
inline Floats canonical_lanes(const Floats& x) {
  return lanes_of([&](std::size_t i) { return canonical_nan(x[i]); });
}

}  // namespace
}  // namespace qsim::golden

#include "golden/graph/real/product_kernels_body.h"

namespace qsim::golden {
const ProductKernels kPortableProducts = kProducts;
}  // namespace qsim::golden
