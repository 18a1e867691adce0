// The elements that an operator over some of a tensor's axes takes together, and what is made of
// them.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "golden/host/float_sums.h"
#include "golden/host/host_numbers.h"

namespace qsim::golden {

using Axes = std::vector<bool>;  // of each axis, whether it goes along a group

// Element m of group g of a tensor is its element starts[g] + members[m]. Groups are in the order
// of the axes that no group goes along, members in that of the others.
struct Groups {
  std::vector<std::int64_t> starts;
  std::vector<std::int64_t> members;
};

// The offset of each position of the axes whose `axes` is `along`.
inline std::vector<std::int64_t> offsets_of(const Shape& shape,
                                            const std::vector<std::int64_t>& steps,
                                            const Axes& axes, bool along) {
  std::vector<std::int64_t> offsets = {0};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (axes[d] != along) continue;
    std::vector<std::int64_t> finer;
    finer.reserve(offsets.size() * static_cast<std::size_t>(shape[d]));
    for (const std::int64_t offset : offsets) {
      for (std::int64_t i = 0; i < shape[d]; ++i) finer.push_back(offset + i * steps[d]);
    }
    offsets = std::move(finer);
  }
  return offsets;
}

// The shape with 1 for the axes of groups, or without these axes.
inline Shape reduced_shape(const Shape& shape, const Axes& axes, bool keeps = true) {
  Shape reduced;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (!axes[d] || keeps) reduced.push_back(axes[d] ? 1 : shape[d]);
  }
  return reduced;
}

// Groups of a tensor of shape `from` that is broadcast to `shape`. Without elements, `members` is
// empty, and there is a start for each element of the reduced shape.
inline Groups groups_of(const Shape& from, const Shape& shape, const Axes& axes) {
  const std::int64_t groups = element_count(reduced_shape(shape, axes));
  if (element_count(shape) == 0) {
    return {std::vector<std::int64_t>(static_cast<std::size_t>(groups), 0), {}};
  }
  const std::vector<std::int64_t> steps = broadcast_steps(from, shape);
  return {offsets_of(shape, steps, axes, false), offsets_of(shape, steps, axes, true)};
}
inline Groups groups_of(const Shape& shape, const Axes& axes) {
  return groups_of(shape, shape, axes);
}

// One group of a tensor.
template <typename T>
struct Group {
  T* start;
  std::span<const std::int64_t> members;
  bool is_whole = false;  // a reduction over all axes, whose sums have an order of their own

  std::size_t size() const { return members.size(); }
  T& operator[](std::size_t m) const { return start[members[m]]; }
};
template <typename T>
Group<const T> group_at(const Tensor& tensor, const Groups& groups, std::size_t g) {
  return {elements<T>(tensor).data() + groups.starts[g], groups.members};
}
template <typename T>
Group<T> group_at(Tensor& tensor, const Groups& groups, std::size_t g) {
  return {elements<T>(tensor).data() + groups.starts[g], groups.members};
}

// The members into one, from the first to the last.
template <typename T, typename Total, typename Step>
Total fold(const Group<const T>& group, Total start, Step step) {
  for (std::size_t m = 0; m < group.size(); ++m) start = step(start, group[m]);
  return start;
}
template <typename T, typename Change>
T sum(const Group<const T>& group, Change change) {
  if constexpr (std::is_floating_point_v<T>) {
    if (group.is_whole) {
      return vector_sum(static_cast<std::int64_t>(group.size()), 0, [&](std::int64_t i) {
        return static_cast<T>(change(group[static_cast<std::size_t>(i)]));
      });
    }
  }
  return fold(group, T{0}, [&](T a, T b) { return plus(a, static_cast<T>(change(b))); });
}
template <typename T>
T sum(const Group<const T>& group) {
  return sum(group, [](T x) { return x; });
}
template <typename T>
T maximum(const Group<const T>& group) {
  using Limits = std::numeric_limits<T>;
  constexpr T kLeast =
      Limits::has_infinity ? static_cast<T>(-Limits::infinity()) : Limits::lowest();
  return fold(group, kLeast, larger<T>);
}
template <typename T>
T minimum(const Group<const T>& group) {
  using Limits = std::numeric_limits<T>;
  constexpr T kMost = Limits::has_infinity ? Limits::infinity() : Limits::max();
  return fold(group, kMost, smaller<T>);
}
template <typename T>
T square_sum(const Group<const T>& group) {
  return sum(group, [](T x) { return times(x, x); });
}
template <typename T>
T absolute_sum(const Group<const T>& group) {
  return sum(group, magnitude<T>);
}
// 0 of no members.
template <typename T>
T mean(const Group<const T>& group) {
  if (group.size() == 0) return 0;
  if constexpr (std::is_floating_point_v<T>) return sum(group) / static_cast<T>(group.size());
  const std::int64_t total = fold(group, std::int64_t{0}, [](std::int64_t a, T b) {
    return plus(a, converted<std::int64_t>(b));
  });
  return converted<T>(total / static_cast<std::int64_t>(group.size()));
}
template <typename T>
T product(const Group<const T>& group) {
  if constexpr (std::is_floating_point_v<T>) {
    if (group.is_whole && group.size() != 0) {
      const auto term = [&](std::int64_t i) { return group[static_cast<std::size_t>(i)]; };
      return vector_fold(static_cast<std::int64_t>(group.size()), 0, term, times<T>);
    }
  }
  return fold(group, T{1}, times<T>);
}
template <typename T>
T log_sum_exp(const Group<const T>& group) {
  using Real = std::conditional_t<std::is_floating_point_v<T>, T, double>;
  const Real top = static_cast<Real>(maximum(group));
  const Real shift = std::isfinite(top) ? top : Real{0};
  const auto add_power = [&](Real total, T x) {
    return total + std::exp(static_cast<Real>(x) - shift);
  };
  return converted<T>(shift + std::log(fold(group, Real{0}, add_power)));
}

// Operators of axis_operators() in a file of their own.
void run_layer_normalization(HostCall& call);
void run_simplified_layer_normalization(HostCall& call);
void run_rms_normalization(HostCall& call);
void run_skip_layer_normalization(HostCall& call);
void run_embed_layer_normalization(HostCall& call);
void run_skip_simplified_layer_normalization(HostCall& call);
void run_instance_normalization(HostCall& call);
void run_group_normalization(HostCall& call);
void run_batch_normalization(HostCall& call);

}  // namespace qsim::golden
