// Sums of float32 in the orders of ONNX Runtime's CPU.
#pragma once

#include <array>
#include <cstdint>

namespace qsim::golden {

// term(0), ..., term(size - 1) into one as Eigen does it with vectors of four: two vectors of
// results from term `first` on, where the data become aligned, then what is before and behind
// (Eigen, Core/Redux.h). 0 of no terms.
template <typename Term, typename Join>
auto vector_fold(std::int64_t size, std::int64_t first, Term term, Join join) {
  using T = decltype(term(0));
  constexpr std::int64_t kLanes = 16 / sizeof(T);
  const std::int64_t vectors = first < size ? (size - first) / kLanes : 0;
  if (vectors == 0) {
    T result = size > 0 ? term(0) : T{0};
    for (std::int64_t i = 1; i < size; ++i) result = join(result, term(i));
    return result;
  }
  std::array<T, kLanes> even;
  std::array<T, kLanes> odd;
  for (std::int64_t lane = 0; lane < kLanes; ++lane) {
    const auto l = static_cast<std::size_t>(lane);
    const auto of_vector = [&](std::int64_t v) { return term(first + kLanes * v + lane); };
    even[l] = of_vector(0);
    if (vectors == 1) continue;
    odd[l] = of_vector(1);
    for (std::int64_t v = 2; v + 2 <= vectors; v += 2) {
      even[l] = join(even[l], of_vector(v));
      odd[l] = join(odd[l], of_vector(v + 1));
    }
    even[l] = join(even[l], odd[l]);
    if (vectors % 2 != 0) even[l] = join(even[l], of_vector(vectors - 1));
  }
  T result = kLanes == 2 ? join(even[0], even[1])
                         : join(join(even[0], even[kLanes / 2]), join(even[1], even[kLanes - 1]));
  for (std::int64_t i = 0; i < first; ++i) result = join(result, term(i));
  for (std::int64_t i = first + kLanes * vectors; i < size; ++i) result = join(result, term(i));
  return result;
}
template <typename Term>
auto vector_sum(std::int64_t size, std::int64_t first, Term term) {
  return vector_fold(size, first, term, [](auto a, auto b) { return a + b; });
}

// Where elements become aligned that begin at element `offset` of a tensor.
inline std::int64_t aligned_from(std::int64_t offset) { return (4 - offset % 4) % 4; }

// Four sums, added up, then what does not fill a vector of four
// (onnxruntime/core/mlas/lib/pooling.cpp).
inline float pooled_sum(const float* from, std::int64_t size) {
  std::array<float, 4> s{};
  std::int64_t i = 0;
  for (; i + 4 <= size; i += 4) {
    for (std::size_t lane = 0; lane < 4; ++lane)
      s[lane] += from[i + static_cast<std::int64_t>(lane)];
  }
  float sum = (s[0] + s[2]) + (s[1] + s[3]);
  for (; i < size; ++i) sum += from[i];
  return sum;
}

// Four numbers are added up, then added to the sum; then two, then one: a product with ones by
// ProductOrder::kFours.
template <typename Term>
float sum_by_fours(std::int64_t size, Term term) {
  float sum = 0.0F;
  std::int64_t i = 0;
  for (; i + 4 <= size; i += 4) {
    sum = (((term(i) + term(i + 1)) + term(i + 2)) + term(i + 3)) + sum;
  }
  if (size - i >= 2) {
    sum = (term(i) + term(i + 1)) + sum;
    i += 2;
  }
  return i < size ? term(i) + sum : sum;
}

}  // namespace qsim::golden
