#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "golden/host/axis_groups.h"
#include "golden/host/fused_functions.h"
#include "golden/host/host_operators.h"

namespace qsim::golden {
namespace {

// ---- Reductions ----

// A scalar counts as one axis.
Axes axes_of(const HostCall& call, const std::vector<std::int64_t>& list) {
  const std::size_t rank = std::max(call.shape(0).size(), std::size_t{1});
  Axes axes(rank, false);
  for (const std::int64_t axis : list) axes[call.axis(axis, rank)] = true;
  return axes;
}

// Axes as an attribute or as input 1; without any, all or none.
Axes axes_to_reduce(const HostCall& call) {
  const std::vector<std::int64_t> list =
      call.has(1) ? call.integers(1)
                  : call.integer_list("axes").value_or(std::vector<std::int64_t>{});
  if (!list.empty()) return axes_of(call, list);
  return Axes(call.shape(0).size(), call.attribute("noop_with_empty_axes", std::int64_t{0}) == 0);
}

// Each group to one number: the function of the group.
template <Kind kind, typename Out, typename Body>
void reduce_over(HostCall& call, const Axes& axes, DType out_dtype, Body body) {
  const Shape& shape = call.shape(0);
  const bool keeps = call.attribute("keepdims", std::int64_t{1}) != 0;
  Tensor* out = call.output(0, out_dtype, reduced_shape(shape, axes, keeps));
  if (out == nullptr) return;
  const Groups groups = groups_of(shape, axes);
  with_type_of<kind>(call.dtype(0), [&]<typename T>() {
    using Result = std::conditional_t<std::is_void_v<Out>, T, Out>;
    const bool is_whole = std::ranges::find(axes, false) == axes.end();
    const std::span<Result> results = elements<Result>(*out);
    for (std::size_t g = 0; g < groups.starts.size(); ++g) {
      Group<const T> group = group_at<T>(call.input(0), groups, g);
      group.is_whole = is_whole;
      results[g] = body(group);
    }
  });
}

template <auto function, Kind kind = Kind::kNumbers>
void reduce(HostCall& call) {
  const DType dtype = common_type(call, kind, 0, 1);
  if (dtype == DType::kBool && element_count(call.shape(0)) == 0) {
    call.refuse("bool of shape " + shape_text(call.shape(0)), "one with elements");
  }
  reduce_over<kind, void>(call, axes_to_reduce(call), dtype, function);
}

// What decides on the order in which the sums of float32 are made: the sizes of the axes, those
// side by side that are alike as one (onnxruntime/core/providers/cpu/reduction/reduction_ops.cc).
struct MergedAxes {
  bool begins_reduced = false;
  std::vector<std::int64_t> sizes;
};
MergedAxes merged_axes(const Shape& shape, const Axes& axes) {
  MergedAxes merged = {.begins_reduced = axes.empty() || axes[0], .sizes = {}};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (d > 0 && axes[d] == axes[d - 1]) {
      merged.sizes.back() *= shape[d];
    } else {
      merged.sizes.push_back(shape[d]);
    }
  }
  return merged;
}

float float_sum(const MergedAxes& merged, const float* data, const Group<const float>& group) {
  const auto size = static_cast<std::int64_t>(group.size());
  const auto term = [&](std::int64_t i) { return group[static_cast<std::size_t>(i)]; };
  const auto run_sum = [&](std::int64_t first, std::int64_t length) {
    const std::int64_t offset = group.start - data + group.members[static_cast<std::size_t>(first)];
    return vector_sum(length, aligned_from(offset),
                      [&](std::int64_t i) { return data[offset + i]; });
  };
  const std::vector<std::int64_t>& sizes = merged.sizes;
  const std::size_t rank = sizes.size();
  const bool ends_reduced = merged.begins_reduced == (rank % 2 == 1);
  if (size == 0 || rank == 0) return sum(group);
  if (ends_reduced && rank <= 2) return run_sum(0, size);
  if (rank == 3 && !ends_reduced && sizes[0] >= 2) return sum_by_fours(size, term);
  if (rank == 3 && ends_reduced && sizes[1] >= 2) {
    float total = 0.0F;
    for (std::int64_t i = 0; i < size; i += sizes[2]) total += run_sum(i, sizes[2]);
    return total;
  }
  return sum(group);
}

// ReduceSum or ReduceMean.
template <bool is_mean>
void reduce_sum(HostCall& call) {
  if (call.dtype(0) != DType::kFloat32) {
    return reduce<[](const auto& group) { return is_mean ? mean(group) : sum(group); }>(call);
  }
  const Axes axes = axes_to_reduce(call);
  const MergedAxes merged = merged_axes(call.shape(0), axes);
  const float* data = elements<float>(call.input(0)).data();
  reduce_over<Kind::kReals, float>(call, axes, DType::kFloat32, [&]<typename T>(const T& group) {
    if constexpr (std::is_same_v<T, Group<const float>>) {
      const float total = float_sum(merged, data, group);
      if (!is_mean) return total;
      return group.size() == 0 ? 0.0F : total / static_cast<float>(group.size());
    } else {
      return 0.0F;
    }
  });
}

// A reduction whose result is a real function of another's.
template <auto reduction, auto function>
void reduce_then(HostCall& call) {
  const DType dtype = common_type(call, Kind::kNumbers, 0, 1);
  reduce_over<Kind::kNumbers, void>(call, axes_to_reduce(call), dtype,
                                    []<typename T>(const Group<T>& group) {
                                      using Number = std::remove_const_t<T>;
                                      return converted<Number>(function(reduction(group)));
                                    });
}

// The first or the last of the members that no other one passes.
template <typename T, typename Passes>
std::int64_t best_of(const Group<T>& group, bool last, Passes passes) {
  std::size_t best = 0;
  for (std::size_t m = 1; m < group.size(); ++m) {
    if (passes(group[m], group[best]) || (last && group[m] == group[best])) best = m;
  }
  return static_cast<std::int64_t>(best);
}

template <auto passes>
void best_index(HostCall& call) {
  static_cast<void>(common_type(call, Kind::kNumbers, 0, 1));
  const Axes axes = axes_of(call, {call.attribute("axis", std::int64_t{0})});
  const bool last = call.attribute("select_last_index", std::int64_t{0}) != 0;
  if (element_count(call.shape(0)) == 0 && element_count(reduced_shape(call.shape(0), axes)) != 0) {
    call.malformed("an axis of 0 elements", "one with elements");
  }
  reduce_over<Kind::kNumbers, std::int64_t>(
      call, axes, DType::kInt64, [&](const auto& group) { return best_of(group, last, passes); });
}

// ---- Groups to groups ----

template <Kind kind, typename Body>
void map_groups(HostCall& call, const Axes& axes, Body body) {
  const DType dtype = common_type(call, kind, 0, 1);
  Tensor* out = call.output(0, dtype, call.shape(0));
  if (out == nullptr || out->bytes.empty()) return;
  const Groups groups = groups_of(out->shape, axes);
  with_type_of<kind>(dtype, [&]<typename T>() {
    for (std::size_t g = 0; g < groups.starts.size(); ++g) {
      body(group_at<T>(call.input(0), groups, g), group_at<T>(*out, groups, g));
    }
  });
}

// Below opset 13 all axes from `axis` on count as one.
Axes softmax_axes(const HostCall& call) {
  const std::size_t rank = call.shape(0).size();
  const bool is_flat = call.opset() < 13;
  const std::size_t axis = call.axis(call.attribute("axis", std::int64_t{is_flat ? 1 : -1}), rank);
  Axes axes(rank, false);
  for (std::size_t d = axis; d < (is_flat ? rank : axis + 1); ++d) axes[d] = true;
  return axes;
}

// y[i] = exp(x[i] - the greatest x); gives that x and the sum of them.
template <typename T>
std::pair<T, T> shifted_powers(std::span<const T> x, std::span<T> y) {
  T top = std::numeric_limits<T>::lowest();
  for (const T value : x) top = larger(top, value);
  if constexpr (std::is_same_v<T, float>) return {top, exponentials(x, -top, y)};
  T total = 0;
  for (std::size_t m = 0; m < x.size(); ++m) total += y[m] = std::exp(x[m] - top);
  return {top, total};
}

// body(members, room for powers, results) for the members of each group.
template <typename Body>
void map_powers(HostCall& call, Body body) {
  map_groups<Kind::kReals>(call, softmax_axes(call),
                           [&]<typename T>(const Group<const T>& x, const Group<T>& y) {
                             std::vector<T> values(x.size());
                             std::vector<T> powers(x.size());
                             for (std::size_t m = 0; m < x.size(); ++m) values[m] = x[m];
                             const auto [top, total] = shifted_powers<T>(values, powers);
                             for (std::size_t m = 0; m < x.size(); ++m) {
                               y[m] = body(values[m], powers[m], top, total);
                             }
                           });
}

void softmax(HostCall& call) {
  map_powers(call, [](auto, auto power, auto, auto total) { return power * (1 / total); });
}

void log_softmax(HostCall& call) {
  map_powers(call, [](auto x, auto, auto top, auto total) { return x + -top - std::log(total); });
}

void hardmax(HostCall& call) {
  map_groups<Kind::kReals>(
      call, softmax_axes(call), []<typename T>(const Group<const T>& x, const Group<T>& y) {
        y[static_cast<std::size_t>(best_of(x, false, [](T a, T b) { return a > b; }))] = 1;
      });
}

void cum_sum(HostCall& call) {
  const Axes axes = axes_of(call, {call.integer(1)});
  const bool exclusive = call.attribute("exclusive", std::int64_t{0}) != 0;
  const bool reverse = call.attribute("reverse", std::int64_t{0}) != 0;
  map_groups<Kind::kNumbers>(call, axes,
                             [&]<typename T>(const Group<const T>& x, const Group<T>& y) {
                               T total{0};
                               for (std::size_t i = 0; i < x.size(); ++i) {
                                 const std::size_t m = reverse ? x.size() - 1 - i : i;
                                 const T before = total;
                                 total = plus(total, x[m]);
                                 y[m] = exclusive ? before : total;
                               }
                             });
}

void lp_normalization(HostCall& call) {
  const std::int64_t p = call.attribute("p", std::int64_t{2});
  if (p != 1 && p != 2) call.malformed("p = " + std::to_string(p), "1 or 2");
  map_groups<Kind::kReals>(call, axes_of(call, {call.attribute("axis", std::int64_t{-1})}),
                           [&]<typename T>(const Group<const T>& x, const Group<T>& y) {
                             const T norm = p == 1 ? absolute_sum(x) : std::sqrt(square_sum(x));
                             for (std::size_t m = 0; m < x.size(); ++m)
                               y[m] = norm == 0 ? T{0} : x[m] / norm;
                           });
}

// The mean of the squares of the members' distances from `center`.
template <typename T>
T variance(const Group<const T>& group, T center) {
  return sum(group, [&](T x) { return (x - center) * (x - center); }) /
         static_cast<T>(group.size());
}

void mean_variance_normalization(HostCall& call) {
  const auto list = call.integer_list("axes").value_or(std::vector<std::int64_t>{0, 2, 3});
  map_groups<Kind::kReals>(
      call, axes_of(call, list), []<typename T>(const Group<const T>& x, const Group<T>& y) {
        const T center = mean(x);
        const T deviation = std::sqrt(variance(x, center)) + static_cast<T>(1e-9);
        for (std::size_t m = 0; m < x.size(); ++m) y[m] = (x[m] - center) / deviation;
      });
}

void lrn(HostCall& call) {
  const std::int64_t size = call.attribute("size", std::int64_t{0});
  const float alpha = call.attribute("alpha", 1e-4F);
  const float beta = call.attribute("beta", 0.75F);
  const float bias = call.attribute("bias", 1.0F);
  if (size <= 0) call.malformed("size = " + std::to_string(size), "1 or more");
  map_groups<Kind::kReals>(
      call, axes_of(call, {1}), [&]<typename T>(const Group<const T>& x, const Group<T>& y) {
        const auto channels = static_cast<std::int64_t>(x.size());
        const std::int64_t before = std::min((size - 1) / 2, channels);
        const std::int64_t after = std::min(size / 2, channels);
        for (std::int64_t c = 0; c < channels; ++c) {
          const std::int64_t first = std::max(c - before, std::int64_t{0});
          const std::int64_t end = std::min(c + after + 1, channels);
          const T total = square_sum(
              Group<const T>{x.start, x.members.subspan(static_cast<std::size_t>(first),
                                                        static_cast<std::size_t>(end - first))});
          const T base = bias + alpha / static_cast<T>(size) * total;
          const auto m = static_cast<std::size_t>(c);
          y[m] = x[m] / std::pow(base, static_cast<T>(beta));
        }
      });
}

constexpr auto kOperators = std::to_array<HostOperator>({
    {"ArgMax", best_index<[](auto a, auto b) { return (a > b); }>},
    {"ArgMin", best_index<[](auto a, auto b) { return a < b; }>},
    {"BatchNormalization", run_batch_normalization},
    {"CumSum", cum_sum},
    {"GroupNormalization", run_group_normalization},
    {"Hardmax", hardmax},
    {"InstanceNormalization", run_instance_normalization},
    {"LRN", lrn},
    {"LayerNormalization", run_layer_normalization},
    {"LogSoftmax", log_softmax},
    {"LpNormalization", lp_normalization},
    {"MeanVarianceNormalization", mean_variance_normalization},
    {"RMSNormalization", run_rms_normalization},
    {"ReduceL1", reduce<[](const auto& group) { return absolute_sum(group); }>},
    {"ReduceL2", reduce_then<[](const auto& group) { return square_sum(group); },
                             [](auto x) { return std::sqrt(x); }>},
    {"ReduceLogSum",
     reduce_then<[](const auto& group) { return sum(group); }, [](auto x) { return std::log(x); }>},
    {"ReduceLogSumExp", reduce<[](const auto& group) { return log_sum_exp(group); }>},
    {"ReduceMax", reduce<[](const auto& group) { return maximum(group); }, Kind::kAny>},
    {"ReduceMean", reduce_sum<true>},
    {"ReduceMin", reduce<[](const auto& group) { return minimum(group); }, Kind::kAny>},
    {"ReduceProd", reduce<[](const auto& group) { return product(group); }>},
    {"ReduceSum", reduce_sum<false>},
    {"ReduceSumSquare", reduce<[](const auto& group) { return square_sum(group); }>},
    {"SimplifiedLayerNormalization", run_simplified_layer_normalization},
    {"SimplifiedLayerNormalization", run_simplified_layer_normalization, kMicrosoft},
    {"EmbedLayerNormalization", run_embed_layer_normalization, kMicrosoft},
    {"SkipLayerNormalization", run_skip_layer_normalization, kMicrosoft},
    {"SkipSimplifiedLayerNormalization", run_skip_simplified_layer_normalization, kMicrosoft},
    {"Softmax", softmax},
});

}  // namespace

std::span<const HostOperator> axis_operators() { return kOperators; }

}  // namespace qsim::golden
