#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>

#include "golden/host/movement.h"

namespace qsim::golden {
namespace {

// An index from -size to size - 1 as one from 0 on.
std::int64_t checked_index(const HostCall& call, std::int64_t index, std::int64_t size) {
  const std::int64_t counted_index = index < 0 ? index + size : index;
  if (counted_index < 0 || counted_index >= size) {
    call.malformed("index " + std::to_string(index) + " of " + std::to_string(size),
                   "one within them");
  }
  return counted_index;
}

void gather(HostCall& call) {
  const Tensor& data = call.input(0);
  const Shape& indices = call.shape(1);
  const std::size_t axis = call.axis(call.attribute("axis", std::int64_t{0}), data.shape.size());
  Shape shape = data.shape;
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), indices.begin(), indices.end());
  Tensor* out = call.output(0, data.dtype, shape);
  if (out == nullptr) return;
  Integers positions = call.integers(1);
  for (std::int64_t& position : positions) {
    position = checked_index(call, position, data.shape[axis]);
  }
  if (out->bytes.empty()) return;
  const Shape view = around(data.shape, axis);
  pick(data, view, {counted(view[0]), std::move(positions), counted(view[2])}, *out);
}

// The shapes of what GatherElements and ScatterElements index: no axis of `indices` is longer than
// that of `data`, but for `axis`.
void require_within(const HostCall& call, const Shape& indices, const Shape& data,
                    std::size_t axis) {
  bool fits = indices.size() == data.size();
  for (std::size_t d = 0; fits && d < data.size(); ++d) {
    fits = d == axis || indices[d] <= data[d];
  }
  if (!fits) {
    call.malformed("indices " + shape_text(indices) + " of data " + shape_text(data),
                   "indices within the data");
  }
}

// Calls body(position in indices, element of data) for each of the indices, row-major.
template <typename Body>
void for_each_indexed(const HostCall& call, const Shape& data, std::size_t axis, Body body) {
  const Integers indices = call.integers(1);
  if (indices.empty()) return;
  Integers steps = row_major_steps(data);
  const std::int64_t along = std::exchange(steps[axis], 0);
  for_each_position<1>(call.shape(1), {steps}, [&](std::int64_t i, const auto& at) {
    const std::int64_t index =
        checked_index(call, indices[static_cast<std::size_t>(i)], data[axis]);
    body(static_cast<std::size_t>(i), static_cast<std::size_t>(at[0] + index * along));
  });
}

void gather_elements(HostCall& call) {
  const Tensor& data = call.input(0);
  const std::size_t axis = call.axis(call.attribute("axis", std::int64_t{0}), data.shape.size());
  require_within(call, call.shape(1), data.shape, axis);
  Tensor* out = call.output(0, data.dtype, call.shape(1));
  if (out == nullptr) return;
  const std::size_t size = dtype_bytes(data.dtype);
  for_each_indexed(call, data.shape, axis, [&](std::size_t i, std::size_t from) {
    std::memcpy(out->bytes.data() + i * size, data.bytes.data() + from * size, size);
  });
}

// How a scattered element joins the one that is there; sums and products of integers wrap.
enum class Reduction : std::uint8_t { kNone, kAdd, kMul, kMin, kMax };

Reduction reduction_of(const HostCall& call) {
  constexpr std::array<std::string_view, 5> kNames = {"none", "add", "mul", "min", "max"};
  const std::string name = call.attribute("reduction", "none");
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) {
    call.malformed("reduction '" + name + "'", "none, add, mul, min or max");
  }
  return static_cast<Reduction>(found - kNames.begin());
}

template <typename T>
T joined(Reduction reduction, T there, T update) {
  using Wide = Wrapping<T>;
  switch (reduction) {
    case Reduction::kAdd:
      return static_cast<T>(static_cast<Wide>(there) + static_cast<Wide>(update));
    case Reduction::kMul:
      return static_cast<T>(static_cast<Wide>(there) * static_cast<Wide>(update));
    case Reduction::kMin:
      return std::min(there, update);
    case Reduction::kMax:
      return std::max(there, update);
    case Reduction::kNone:
      break;
  }
  return update;
}

// Joins `count` updates from `update` on to the elements from `there` on.
void join(Reduction reduction, DType dtype, std::byte* there, const std::byte* update,
          std::size_t count) {
  if (reduction == Reduction::kNone) {
    std::memcpy(there, update, count * dtype_bytes(dtype));
    return;
  }
  with_type(dtype, [&]<typename T>() {
    for (std::size_t i = 0; i < count; ++i) {
      T& element = reinterpret_cast<T*>(there)[i];
      element = joined(reduction, element, reinterpret_cast<const T*>(update)[i]);
      if (dtype == DType::kBool) element = element != T{0} ? T{1} : T{0};
    }
  });
}

// The output of a scatter, a copy of the data; null where nothing is computed.
Tensor* scatter_output(HostCall& call, const Shape& updates) {
  if (call.shape(2) != updates || call.dtype(2) != call.dtype(0)) {
    call.malformed("updates " + shape_text(call.shape(2)),
                   shape_text(updates) + " of the type of the data");
  }
  Tensor* out = call.output(0, call.dtype(0), call.shape(0));
  if (out != nullptr) out->bytes = call.input(0).bytes;
  return out;
}

void scatter_elements(HostCall& call) {
  const Tensor& data = call.input(0);
  const std::size_t axis = call.axis(call.attribute("axis", std::int64_t{0}), data.shape.size());
  const Reduction reduction = reduction_of(call);
  require_within(call, call.shape(1), data.shape, axis);
  Tensor* out = scatter_output(call, call.shape(1));
  if (out == nullptr) return;
  const std::size_t size = dtype_bytes(data.dtype);
  for_each_indexed(call, data.shape, axis, [&](std::size_t i, std::size_t to) {
    join(reduction, data.dtype, out->bytes.data() + to * size,
         call.input(2).bytes.data() + i * size, 1);
  });
}

// What GatherND and ScatterND share: tuples of indices, each of a slice of the data.
struct Tuples {
  std::size_t batch_axes = 0;
  std::size_t length = 0;  // indices in each
  Shape shape = {};        // of the tuples
  Shape slices = {};       // shape and the axes of a slice
  std::int64_t slice = 0;  // elements of each
};

Tuples tuples_of(const HostCall& call, std::int64_t batch_dims) {
  const Shape& data = call.shape(0);
  const Shape& indices = call.shape(1);
  const std::size_t shorter = std::min(data.size(), indices.size());
  if (indices.empty() || data.empty() || batch_dims < 0 ||
      batch_dims >= static_cast<std::int64_t>(shorter)) {
    call.malformed("indices " + shape_text(indices) + " of data " + shape_text(data),
                   "one axis or more beside the batch");
  }
  Tuples tuples;
  tuples.batch_axes = static_cast<std::size_t>(batch_dims);
  const auto batch_end = static_cast<std::ptrdiff_t>(batch_dims);
  if (indices.back() > static_cast<std::int64_t>(data.size() - tuples.batch_axes) ||
      !std::equal(data.begin(), data.begin() + batch_end, indices.begin())) {
    call.malformed("indices " + shape_text(indices) + " of data " + shape_text(data),
                   "the same batch, and tuples of no more than the other axes");
  }
  tuples.length = static_cast<std::size_t>(indices.back());
  tuples.shape = Shape(indices.begin(), indices.end() - 1);
  tuples.slices = tuples.shape;
  const std::size_t first = tuples.batch_axes + tuples.length;
  tuples.slices.insert(tuples.slices.end(), data.begin() + static_cast<std::ptrdiff_t>(first),
                       data.end());
  tuples.slice = elements_between(data, first, data.size());
  return tuples;
}

// Calls body(number of the tuple, first element of its slice) for each tuple.
template <typename Body>
void for_each_tuple(const HostCall& call, const Tuples& tuples, Body body) {
  const Shape& data = call.shape(0);
  const Integers indices = call.integers(1);
  const std::int64_t count = element_count(tuples.shape);
  if (tuples.slice == 0 || count == 0) return;
  const std::int64_t batches = elements_between(data, 0, tuples.batch_axes);
  std::size_t next = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t at = i / (count / batches);
    for (std::size_t k = 0; k < tuples.length; ++k) {
      const std::int64_t size = data[tuples.batch_axes + k];
      at = at * size + checked_index(call, indices[next++], size);
    }
    body(static_cast<std::size_t>(i), static_cast<std::size_t>(at * tuples.slice));
  }
}

void gather_nd(HostCall& call) {
  const Tensor& data = call.input(0);
  const Tuples tuples = tuples_of(call, call.attribute("batch_dims", std::int64_t{0}));
  Tensor* out = call.output(0, data.dtype, tuples.slices);
  if (out == nullptr) return;
  const std::size_t size = dtype_bytes(data.dtype);
  const std::size_t bytes = static_cast<std::size_t>(tuples.slice) * size;
  for_each_tuple(call, tuples, [&](std::size_t i, std::size_t from) {
    std::memcpy(out->bytes.data() + i * bytes, data.bytes.data() + from * size, bytes);
  });
}

void scatter_nd(HostCall& call) {
  const Tuples tuples = tuples_of(call, 0);
  const Reduction reduction = reduction_of(call);
  Tensor* out = scatter_output(call, tuples.slices);
  if (out == nullptr) return;
  const auto count = static_cast<std::size_t>(tuples.slice);
  const std::size_t size = dtype_bytes(out->dtype);
  for_each_tuple(call, tuples, [&](std::size_t i, std::size_t to) {
    join(reduction, out->dtype, out->bytes.data() + to * size,
         call.input(2).bytes.data() + i * count * size, count);
  });
}

void top_k(HostCall& call) {
  const Tensor& input = call.input(0);
  const std::size_t axis = call.axis(call.attribute("axis", std::int64_t{-1}), input.shape.size());
  const bool largest = call.attribute("largest", std::int64_t{1}) != 0;
  const std::int64_t k =
      call.opset() < 10 ? call.attribute("k", std::int64_t{-1}) : call.integer(1);
  if (k < 0 || k > input.shape[axis]) {
    call.malformed("k " + std::to_string(k) + " of " + std::to_string(input.shape[axis]),
                   "0 to as many");
  }
  Shape shape = input.shape;
  shape[axis] = k;
  Tensor* values = call.output(0, input.dtype, shape);
  Tensor* indices = call.output(1, DType::kInt64, shape);
  if (!call.computes() || element_count(shape) == 0) return;
  const Shape view = around(input.shape, axis);
  with_type(input.dtype, [&]<typename T>() {
    const std::span<const T> from = elements<T>(input);
    const Integers all = counted(view[1]);
    for (std::int64_t i = 0; i < view[0] * view[2]; ++i) {
      const std::int64_t outer = i / view[2];
      const std::int64_t inner = i % view[2];
      const auto at = [&](std::int64_t position) {
        return from[static_cast<std::size_t>((outer * view[1] + position) * view[2] + inner)];
      };
      Integers order = all;
      std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k), order.end(),
                        [&](std::int64_t a, std::int64_t b) {
                          if (is_below(at(a), at(b))) return !largest;
                          if (is_below(at(b), at(a))) return largest;
                          return a < b;
                        });
      for (std::int64_t rank = 0; rank < k; ++rank) {
        const auto to = static_cast<std::size_t>((outer * k + rank) * view[2] + inner);
        const std::int64_t position = order[static_cast<std::size_t>(rank)];
        if (values != nullptr) elements<T>(*values)[to] = at(position);
        if (indices != nullptr) elements<std::int64_t>(*indices)[to] = position;
      }
    }
  });
}

void one_hot(HostCall& call) {
  const Shape& indices = call.shape(0);
  const Tensor& values = call.input(2);
  const std::int64_t depth = call.integer(1);
  if (depth < 1) call.malformed("a depth of " + std::to_string(depth), "1 or more");
  if (values.shape != Shape{2}) call.malformed("values " + shape_text(values.shape), "[2]");
  const std::size_t axis =
      call.axis(call.attribute("axis", std::int64_t{-1}), indices.size(), true);
  Shape shape = indices;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), depth);
  Tensor* out = call.output(0, values.dtype, shape);
  if (out == nullptr || out->bytes.empty()) return;
  const std::size_t size = dtype_bytes(values.dtype);
  fill(*out, std::span(values.bytes).first(size));
  const std::int64_t inner = elements_between(indices, axis, indices.size());
  const Integers hot = call.integers(0);
  for (std::size_t i = 0; i < hot.size(); ++i) {
    const std::int64_t index = hot[i] < 0 ? hot[i] + depth : hot[i];
    if (index < 0 || index >= depth) continue;
    const auto place = static_cast<std::int64_t>(i);
    const std::int64_t to = (place / inner * depth + index) * inner + place % inner;
    std::memcpy(out->bytes.data() + static_cast<std::size_t>(to) * size, values.bytes.data() + size,
                size);
  }
}

void non_zero(HostCall& call) {
  const Tensor& input = call.input(0);
  if (!call.computes()) throw HostUnknown{};
  Integers places;
  with_type(input.dtype, [&]<typename T>() {
    const std::span<const T> all = elements<T>(input);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i] != T{0}) places.push_back(static_cast<std::int64_t>(i));
    }
  });
  const Shape shape = input.shape.empty() ? Shape{1} : input.shape;
  const auto count = static_cast<std::int64_t>(places.size());
  Tensor* out = call.output(0, DType::kInt64, {static_cast<std::int64_t>(shape.size()), count});
  if (out == nullptr || out->bytes.empty()) return;
  const std::span<std::int64_t> to = elements<std::int64_t>(*out);
  const Integers steps = row_major_steps(shape);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      to[d * places.size() + i] = places[i] / steps[d] % shape[d];
    }
  }
}

// The input as slices of the attribute's axis; without one, flat.
struct Sliced {
  Shape shape;  // of what is chosen, but for the size of the axis
  std::size_t axis = 0;
  Shape view;  // of the input as three axes
};

Sliced sliced(const HostCall& call) {
  const Shape& shape = call.shape(0);
  if (!call.has_attribute("axis")) return {{0}, 0, {1, element_count(shape), 1}};
  const std::size_t axis = call.axis(call.attribute("axis", std::int64_t{0}), shape.size());
  return {shape, axis, around(shape, axis)};
}

void compress(HostCall& call) {
  const Tensor& input = call.input(0);
  auto [shape, axis, view] = sliced(call);
  const Integers condition = call.integers(1);
  Integers chosen;
  for (std::size_t i = 0; i < condition.size() && static_cast<std::int64_t>(i) < view[1]; ++i) {
    if (condition[i] != 0) chosen.push_back(static_cast<std::int64_t>(i));
  }
  shape[axis] = static_cast<std::int64_t>(chosen.size());
  Tensor* out = call.output(0, input.dtype, shape);
  if (out == nullptr || out->bytes.empty()) return;
  pick(input, view, {counted(view[0]), std::move(chosen), counted(view[2])}, *out);
}

// -1, 0 or 1 as slice `a` of an axis is below, equal to or above slice `b`.
template <typename T>
int compared(std::span<const T> all, const Shape& view, std::int64_t a, std::int64_t b) {
  for (std::int64_t outer = 0; outer < view[0]; ++outer) {
    for (std::int64_t inner = 0; inner < view[2]; ++inner) {
      const auto at = [&](std::int64_t slice) {
        return all[static_cast<std::size_t>((outer * view[1] + slice) * view[2] + inner)];
      };
      if (is_below(at(a), at(b))) return -1;
      if (is_below(at(b), at(a))) return 1;
    }
  }
  return 0;
}

// The groups of equal slices of an axis, each in order.
std::vector<Integers> equal_slices(const Tensor& input, const Shape& view) {
  std::vector<Integers> groups;
  with_type(input.dtype, [&]<typename T>() {
    const std::span<const T> all = elements<T>(input);
    Integers order = counted(view[1]);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int64_t a, std::int64_t b) { return compared(all, view, a, b) < 0; });
    for (const std::int64_t slice : order) {
      if (groups.empty() || compared(all, view, groups.back()[0], slice) != 0) {
        groups.emplace_back();
      }
      groups.back().push_back(slice);
    }
  });
  return groups;
}

void unique(HostCall& call) {
  const Tensor& input = call.input(0);
  auto [shape, axis, view] = sliced(call);
  if (!call.computes()) throw HostUnknown{};
  if (view[0] * view[2] == 0) view[1] = 0;
  std::vector<Integers> groups = equal_slices(input, view);
  if (call.attribute("sorted", std::int64_t{1}) == 0) {
    std::ranges::sort(groups, {}, [](const Integers& group) { return group[0]; });
  }
  Integers first;
  Integers group_of(static_cast<std::size_t>(view[1]));
  Integers counts;
  for (const Integers& group : groups) {
    for (const std::int64_t slice : group) {
      group_of[static_cast<std::size_t>(slice)] = static_cast<std::int64_t>(first.size());
    }
    first.push_back(group[0]);
    counts.push_back(static_cast<std::int64_t>(group.size()));
  }
  shape[axis] = static_cast<std::int64_t>(first.size());
  Tensor* out = call.output(0, input.dtype, shape);
  if (out != nullptr && !out->bytes.empty()) {
    pick(input, view, {counted(view[0]), first, counted(view[2])}, *out);
  }
  const auto give = [&](std::size_t index, const Integers& values) {
    call.give(index, make_tensor({static_cast<std::int64_t>(values.size())},
                                 std::span<const std::int64_t>(values)));
  };
  give(1, first);
  give(2, group_of);
  give(3, counts);
}

constexpr std::array<HostOperator, 12> kSelectionOperators = {{
    {"Compress", compress},
    {"Gather", gather},
    {"GatherElements", gather_elements},
    {"GatherND", gather_nd},
    {"NonMaxSuppression", run_non_max_suppression},
    {"NonZero", non_zero},
    {"OneHot", one_hot},
    {"Scatter", scatter_elements},
    {"ScatterElements", scatter_elements},
    {"ScatterND", scatter_nd},
    {"TopK", top_k},
    {"Unique", unique},
}};

}  // namespace

std::span<const HostOperator> selection_operators() { return kSelectionOperators; }

}  // namespace qsim::golden
