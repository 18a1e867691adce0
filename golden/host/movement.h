// What the operators that move elements share, and the tables of those with a file of their own.
#pragma once

#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "golden/host/host_operators.h"

namespace qsim::golden {

// Gathers, scatters, and what selects elements by their values.
std::span<const HostOperator> selection_operators();
std::span<const HostOperator> value_operators();
void run_non_max_suppression(HostCall& call);
// Resize and Upsample.
std::span<const HostOperator> resize_operators();
// Other samplings of images, and what puts pieces of images together.
std::span<const HostOperator> sampling_operators();
void run_einsum(HostCall& call);

using Integers = std::vector<std::int64_t>;

// For each axis of a result, the position on that axis of the source for each position of the
// result; kNowhere for one that has none.
using Picks = std::vector<Integers>;
inline constexpr std::int64_t kNowhere = -1;

// Copies what `picks` name from `from`, seen as of shape `from_shape`, to `to`, seen as of the
// shape of the picks. Elements from nowhere stay as they are.
void pick(const Tensor& from, const Shape& from_shape, const Picks& picks, Tensor& to);

// 0, 1, ... `count` - 1.
Integers counted(std::int64_t count);

// Sets each element to the one whose bytes are given.
void fill(Tensor& tensor, std::span<const std::byte> value);

// Product of the dimensions from `begin` to before `end`.
std::int64_t elements_between(const Shape& shape, std::size_t begin, std::size_t end);
// A shape as three axes: those before `axis`, `axis`, those after.
Shape around(const Shape& shape, std::size_t axis);

// Cubic interpolation: weights of the four positions around a fraction `s` from the second to the
// third, `a` the coefficient of the cubic.
std::array<float, 4> cubic_weights(float a, float s);

// A list that is an attribute before opset `input_since` and an input from then on.
std::optional<Integers> listed(const HostCall& call, std::string_view name, std::size_t input,
                               int input_since);
// Axes from 0 on; malformed() beyond the rank and for one that is there twice.
std::vector<std::size_t> distinct_axes(const HostCall& call, const Integers& axes,
                                       std::size_t rank);

// The type in which sums and products of T are made: those of integers wrap.
template <typename T>
using Wrapping = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;

// The nearest T, fractions cut off; 0 for NaN.
template <typename T>
T saturated(double value) {
  if constexpr (std::integral<T>) {
    using Limits = std::numeric_limits<T>;
    if (std::isnan(value)) return 0;
    if (value <= static_cast<double>(Limits::min())) return Limits::min();
    if (value >= static_cast<double>(Limits::max())) return Limits::max();
  }
  return static_cast<T>(value);
}

// Elements of `from` by the steps of each axis of `shape`, to `to` in order.
void walk(const Tensor& from, Integers steps, Shape shape, Tensor& to);
Shape permuted(const Shape& shape, const std::vector<std::size_t>& permutation);
// `from`, seen as of `shape`, with its axes in the order of `permutation`.
void transpose_to(const Tensor& from, const Shape& shape,
                  const std::vector<std::size_t>& permutation, Tensor& to);
void require_sizes(const HostCall& call, const Integers& sizes, const char* what);

// An order of all values: NaN is above the others.
template <typename T>
bool is_below(T a, T b) {
  if constexpr (!std::is_integral_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
  }
  return a < b;
}

}  // namespace qsim::golden
