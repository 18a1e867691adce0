// Normalizations with a scale and a bias.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "golden/host/axis_groups.h"

namespace qsim::golden {
namespace {

// What a normalization works on. `shape` is that of the input, or of
// as many elements.
struct Normalization {
  Shape shape;
  Axes axes;              // over which mean and variance go
  bool centers = true;    // without it the mean counts as 0
  bool is_steps = false;  // made of ReduceMean, Mul, Sub, Sqrt, Div and Add
  bool is_plain = false;  // one element after another, however many there are
  float epsilon = 1e-5F;
  const Tensor* scale = nullptr;  // null for 1
  Shape scale_shape = {};         // broadcasts to `shape`
  const Tensor* bias = nullptr;   // null for 0
  Shape bias_shape = {};
  Tensor* means = nullptr;  // a float32 a group
  Tensor* inverse_deviations = nullptr;
};

void check_parameter(const HostCall& call, const Shape& found, const Shape& shape) {
  if (broadcast(call, shape, found) == shape) return;
  call.malformed("a scale or bias of shape " + shape_text(found),
                 "one that broadcasts to " + shape_text(shape));
}

// What a group's elements are normalized with: (x - center) / deviation, or for `multiplies` the
// product with 1 / deviation, and the scale's product fused with the bias.
template <typename T>
struct Moments {
  T center = 0;
  T deviation = 0;
  bool multiplies = false;
};

// Of groups that fill a vector; eight sums of squares
// (onnxruntime/core/mlas/lib/layernorm_kernel_avx2.cpp).
Moments<float> vector_moments(const Group<const float>& x, bool centers, float epsilon) {
  const auto size = static_cast<float>(x.size());
  double total = 0;
  for (std::size_t m = 0; centers && m < x.size(); ++m) total += static_cast<double>(x[m]);
  const auto center = static_cast<float>(total / static_cast<double>(x.size()));
  std::array<float, 8> s{};
  const std::size_t whole = x.size() / 8 * 8;
  const auto add_square = [&](std::size_t m, float sum) {
    return std::fma(x[m] - center, x[m] - center, sum);
  };
  for (std::size_t m = 0; m < whole; ++m) s[m % 8] = add_square(m, s[m % 8]);
  float squares = ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
  // Of what is left, four have squares of their own.
  const std::size_t rest = x.size() - whole >= 4 ? whole + 4 : whole;
  for (std::size_t m = whole; m < rest; ++m) {
    const float distance = x[m] - center;
    squares += distance * distance;
  }
  for (std::size_t m = rest; m < x.size(); ++m) squares = add_square(m, squares);
  return {center, std::sqrt(squares / size + epsilon), true};
}

// A mean and a sum of squared distances from it that grow with each element
// (onnxruntime/core/providers/cpu/nn/layer_norm_impl.cc).
template <typename T>
Moments<T> growing_moments(const Group<const T>& x, T epsilon) {
  T center = 0;
  T squares = 0;
  for (std::size_t m = 0; m < x.size(); ++m) {
    const T distance = x[m] - center;
    center += distance / static_cast<T>(m + 1);
    squares += distance * (x[m] - center);
  }
  return {center, std::sqrt(squares / static_cast<T>(x.size()) + epsilon)};
}

// By the steps of GroupNormalization's definition; `offset` is that of the elements in the tensor.
template <typename T>
Moments<T> moments_by_steps(const Group<const T>& x, std::int64_t offset, T epsilon) {
  const auto mean_of = [&](auto change) {
    return vector_sum(static_cast<std::int64_t>(x.size()), aligned_from(offset),
                      [&](std::int64_t i) { return change(x[static_cast<std::size_t>(i)]); }) /
           static_cast<T>(x.size());
  };
  const T center = mean_of([](T value) { return value; });
  const T squares = mean_of([](T value) { return value * value; });
  return {center, std::sqrt((squares - center * center) + epsilon)};
}

template <typename T>
Moments<T> moments_of(const Normalization& n, const Group<const T>& x, std::int64_t offset) {
  const auto epsilon = static_cast<T>(n.epsilon);
  if (n.is_steps) return moments_by_steps(x, offset, epsilon);
  if constexpr (std::is_same_v<T, float>) {
    if (!n.is_plain && x.size() >= (n.centers ? 8 : 16))
      return vector_moments(x, n.centers, epsilon);
  }
  if (n.centers) return growing_moments(x, epsilon);
  return {0, std::sqrt(square_sum(x) / static_cast<T>(x.size()) + epsilon)};
}

template <typename T>
void normalize_as(const Normalization& n, const Tensor& input, Tensor& out) {
  if (out.bytes.empty()) return;
  const Groups groups = groups_of(n.shape, n.axes);
  const Groups scales = groups_of(n.scale_shape, n.shape, n.axes);
  const Groups biases = groups_of(n.bias_shape, n.shape, n.axes);
  for (std::size_t g = 0; g < groups.starts.size(); ++g) {
    const Group<const T> x = group_at<T>(input, groups, g);
    const Group<T> y = group_at<T>(out, groups, g);
    const Moments<T> moments = moments_of(n, x, groups.starts[g]);
    const T inverse = 1 / moments.deviation;
    if (n.means != nullptr) elements<float>(*n.means)[g] = static_cast<float>(moments.center);
    if (n.inverse_deviations != nullptr)
      elements<float>(*n.inverse_deviations)[g] = static_cast<float>(inverse);
    const auto scale = [&](std::size_t m) { return group_at<T>(*n.scale, scales, g)[m]; };
    const auto bias = [&](std::size_t m) { return group_at<T>(*n.bias, biases, g)[m]; };
    for (std::size_t m = 0; m < x.size(); ++m) {
      const T distance = x[m] - moments.center;
      y[m] = moments.multiplies ? distance * inverse : distance / moments.deviation;
      if (moments.multiplies && n.scale != nullptr && n.bias != nullptr) {
        y[m] = std::fma(y[m], scale(m), bias(m));
        continue;
      }
      if (n.scale != nullptr) y[m] *= scale(m);
      if (n.bias != nullptr) y[m] += bias(m);
    }
  }
}

void normalize(const Normalization& n, const Tensor& input, Tensor& out) {
  with_type_of<Kind::kReals>(out.dtype, [&]<typename T>() { normalize_as<T>(n, input, out); });
}

// The axes from `first` on.
Axes axes_from(std::size_t first, std::size_t rank) {
  Axes axes(rank, false);
  for (std::size_t d = first; d < rank; ++d) axes[d] = true;
  return axes;
}

// A scale or a bias in the shape that it has, or in another one of as many elements.
void set_parameter(const HostCall& call, std::size_t input, const Shape& shape, const Tensor*& to,
                   Shape& to_shape, const Shape* seen_as = nullptr) {
  if (!call.has(input)) return;
  to_shape = seen_as == nullptr ? call.shape(input) : *seen_as;
  if (element_count(to_shape) != element_count(call.shape(input))) {
    call.malformed("a scale or bias of shape " + shape_text(call.shape(input)),
                   std::to_string(element_count(to_shape)) + " elements");
  }
  check_parameter(call, to_shape, shape);
  to = &call.input(input);
}

// LayerNormalization over the axes from `axis` on; the mean and the inverse deviation are outputs
// where `mean_output` and `deviation_output` are, 0 for none.
void layer_norm(HostCall& call, bool centers, std::size_t mean_output,
                std::size_t deviation_output) {
  const DType dtype = common_type(call, Kind::kReals, 0, 3);
  const Shape& shape = call.shape(0);
  const std::size_t axis = call.axis(call.attribute("axis", std::int64_t{-1}), shape.size());
  Normalization n = {.shape = shape, .axes = axes_from(axis, shape.size()), .centers = centers};
  n.epsilon = call.attribute("epsilon", 1e-5F);
  static_cast<void>(call.input(1));
  set_parameter(call, 1, shape, n.scale, n.scale_shape);
  if (centers) set_parameter(call, 2, shape, n.bias, n.bias_shape);
  const Shape reduced = reduced_shape(shape, n.axes);
  if (mean_output != 0) n.means = call.output(mean_output, DType::kFloat32, reduced);
  if (deviation_output != 0)
    n.inverse_deviations = call.output(deviation_output, DType::kFloat32, reduced);
  Tensor* out = call.output(0, dtype, shape);
  if (out != nullptr) normalize(n, call.input(0), *out);
}

// The layer normalization of the sum of two inputs and, if there is one, a bias.
void skip_norm(HostCall& call, bool centers) {
  const std::size_t addend = centers ? 4 : 3;
  const DType dtype = common_type(call, Kind::kReals, 0, addend + 1);
  const Shape& shape = call.shape(0);
  if (shape.empty()) call.malformed("an input without axes", "one or more");
  Normalization n = {
      .shape = shape, .axes = axes_from(shape.size() - 1, shape.size()), .centers = centers};
  n.epsilon = call.attribute("epsilon", 1e-12F);
  n.is_plain = true;
  static_cast<void>(call.input(2));
  set_parameter(call, 2, shape, n.scale, n.scale_shape);
  if (centers) set_parameter(call, 3, shape, n.bias, n.bias_shape);
  check_parameter(call, call.shape(1), shape);
  if (call.has(addend)) check_parameter(call, call.shape(addend), shape);
  const Shape reduced = reduced_shape(shape, n.axes);
  n.means = call.output(1, DType::kFloat32, reduced);
  n.inverse_deviations = call.output(2, DType::kFloat32, reduced);
  Tensor* out = call.output(0, dtype, shape);
  Tensor* sum_out = call.output(3, dtype, shape);
  if (out == nullptr) return;
  Tensor total = call.input(0);
  with_type_of<Kind::kReals>(dtype, [&]<typename T>() {
    for (const std::size_t input : {std::size_t{1}, addend}) {
      if (!call.has(input)) continue;
      const T* const added = elements<T>(call.input(input)).data();
      T* const sums = elements<T>(total).data();
      for_each_position(shape, std::array{broadcast_steps(call.shape(input), shape)},
                        [&](std::int64_t i, const auto& at) { sums[i] += added[at[0]]; });
    }
  });
  normalize(n, total, *out);
  if (sum_out != nullptr) *sum_out = std::move(total);
}

// The row of a table for each of `ids`, added to `sums` [ids][columns].
void add_rows(const HostCall& call, std::size_t table, const std::vector<std::int64_t>& ids,
              std::span<float> sums) {
  const Shape& shape = call.shape(table);
  const auto rows = elements<float>(call.input(table));
  const auto columns = static_cast<std::size_t>(shape[1]);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= shape[0]) {
      call.malformed("row " + std::to_string(ids[i]) + " of input " + std::to_string(table),
                     "0 to " + std::to_string(shape[0] - 1));
    }
    const auto from = rows.subspan(static_cast<std::size_t>(ids[i]) * columns, columns);
    for (std::size_t c = 0; c < columns; ++c) sums[i * columns + c] += from[c];
  }
}

// The shape of an input with a batch and channels; malformed() for another one.
const Shape& batched_shape(const HostCall& call) {
  const Shape& shape = call.shape(0);
  if (shape.size() < 2) {
    call.malformed("an input of shape " + shape_text(shape), "a batch and channels");
  }
  return shape;
}

// [C, 1, 1], to broadcast to a batch of such a rank.
Shape channel_shape(std::int64_t channels, std::size_t rank) {
  Shape shape(rank - 1, 1);
  shape[0] = channels;
  return shape;
}

}  // namespace

void run_layer_normalization(HostCall& call) { layer_norm(call, true, 1, 2); }

void run_simplified_layer_normalization(HostCall& call) { layer_norm(call, false, 0, 1); }

void run_rms_normalization(HostCall& call) { layer_norm(call, false, 0, 0); }

void run_skip_layer_normalization(HostCall& call) { skip_norm(call, true); }

void run_skip_simplified_layer_normalization(HostCall& call) { skip_norm(call, false); }

// The layer normalization of the sum of a word's, a position's and a segment's row of their tables.
void run_embed_layer_normalization(HostCall& call) {
  const Shape& ids = call.shape(0);
  const Shape& words = call.shape(2);
  for (const std::size_t table : {std::size_t{2}, std::size_t{3}, std::size_t{4}}) {
    if (!call.has(table)) continue;
    if (call.dtype(table) != DType::kFloat32 || call.shape(table).size() != 2 ||
        call.shape(table)[1] != words[1]) {
      call.malformed("a table of " + std::string(dtype_name(call.dtype(table))) + " " +
                         shape_text(call.shape(table)),
                     "float32 rows as long as the words'");
    }
  }
  if (ids.size() != 2 || words.size() != 2) {
    call.malformed("shapes " + shape_text(ids) + " and " + shape_text(words),
                   "batch and rows, and a table");
  }
  for (const std::size_t same : {std::size_t{1}, std::size_t{7}}) {
    if (call.has(same) && call.shape(same) != ids) {
      call.malformed("input " + std::to_string(same) + " of shape " + shape_text(call.shape(same)),
                     shape_text(ids));
    }
  }
  if (call.has(8) && call.shape(8) != ids && call.shape(8) != Shape{1, ids[1]}) {
    call.malformed("positions of shape " + shape_text(call.shape(8)),
                   shape_text(ids) + " or " + shape_text({1, ids[1]}));
  }
  const Shape shape = {ids[0], ids[1], words[1]};
  Normalization n = {.shape = shape, .axes = axes_from(2, 3)};
  n.epsilon = call.attribute("epsilon", 1e-12F);
  n.is_plain = true;
  set_parameter(call, 5, shape, n.scale, n.scale_shape);
  set_parameter(call, 6, shape, n.bias, n.bias_shape);
  Tensor* const lengths = call.output(1, DType::kInt32, {ids[0]});
  Tensor* const sum_out = call.output(2, DType::kFloat32, shape);
  Tensor* const out = call.output(0, DType::kFloat32, shape);
  if (out == nullptr) return;
  Tensor total(DType::kFloat32, shape);
  add_rows(call, 2, call.integers(0), elements<float>(total));
  std::vector<std::int64_t> positions;
  for (std::int64_t i = 0; i < ids[0] * ids[1]; ++i) positions.push_back(i % ids[1]);
  if (call.has(8)) {
    const std::vector<std::int64_t> given = call.integers(8);
    for (std::size_t i = 0; i < positions.size(); ++i) positions[i] = given[i % given.size()];
  }
  if (call.has(4) && call.has(1)) add_rows(call, 4, call.integers(1), elements<float>(total));
  add_rows(call, 3, positions, elements<float>(total));
  normalize(n, total, *out);
  if (sum_out != nullptr) *sum_out = total;
  if (lengths == nullptr || !call.has(7)) return;
  const std::vector<std::int64_t> mask = call.integers(7);
  for (std::size_t i = 0; i < mask.size(); ++i) {
    if (mask[i] != 0) ++elements<std::int32_t>(*lengths)[i / static_cast<std::size_t>(ids[1])];
  }
}

// A channel at a time (onnxruntime/core/providers/cpu/nn/instance_norm.cc).
void run_instance_normalization(HostCall& call) {
  const DType dtype = common_type(call, Kind::kReals, 0, 3);
  const Shape& shape = batched_shape(call);
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    if (call.shape(i) == Shape{shape[1]}) continue;
    call.malformed("a scale or bias of shape " + shape_text(call.shape(i)), shape_text({shape[1]}));
  }
  const float epsilon = call.attribute("epsilon", 1e-5F);
  Tensor* out = call.output(0, dtype, shape);
  if (out == nullptr || out->bytes.empty()) return;
  with_type_of<Kind::kReals>(dtype, [&]<typename T>() {
    const std::span<const T> x = elements<T>(call.input(0));
    const std::span<T> y = elements<T>(*out);
    const std::int64_t size = element_count(shape) / (shape[0] * shape[1]);
    for (std::int64_t plane = 0; plane < shape[0] * shape[1]; ++plane) {
      const std::int64_t offset = plane * size;
      const auto element = [&](std::int64_t i) { return x[static_cast<std::size_t>(offset + i)]; };
      const T center = vector_sum(size, aligned_from(offset), element) / static_cast<T>(size);
      const T squares = vector_sum(size, 0, [&](std::int64_t i) {
        const T distance = element(i) - center;
        return distance * distance;
      });
      const auto channel = static_cast<std::size_t>(plane % shape[1]);
      const T inverse = 1 / std::sqrt(squares / static_cast<T>(size) + static_cast<T>(epsilon));
      const T factor = inverse * elements<T>(call.input(1))[channel];
      const T shift = elements<T>(call.input(2))[channel] - center * factor;
      for (std::int64_t i = 0; i < size; ++i) {
        y[static_cast<std::size_t>(offset + i)] = element(i) * factor + shift;
      }
    }
  });
}

// Scale and bias have an element a group before opset 21, a channel from then on.
void run_group_normalization(HostCall& call) {
  const DType dtype = common_type(call, Kind::kReals, 0, 3);
  const Shape& shape = batched_shape(call);
  const std::int64_t groups = call.attribute("num_groups", std::int64_t{0});
  if (groups <= 0 || shape[1] % groups != 0) {
    call.malformed(std::to_string(groups) + " groups of " + std::to_string(shape[1]) + " channels",
                   "a number that divides the channels");
  }
  const std::int64_t in_group = shape[1] / groups;
  Shape split = shape;
  split[1] = in_group;
  split.insert(split.begin() + 1, groups);
  Normalization n = {.shape = split, .axes = axes_from(2, split.size()), .is_steps = true};
  n.epsilon = call.attribute("epsilon", 1e-5F);
  Shape parameters = channel_shape(groups, split.size());
  if (call.opset() >= 21) parameters[1] = in_group;
  set_parameter(call, 1, split, n.scale, n.scale_shape, &parameters);
  set_parameter(call, 2, split, n.bias, n.bias_shape, &parameters);
  Tensor* out = call.output(0, dtype, shape);
  if (out != nullptr) normalize(n, call.input(0), *out);
}

// (x - mean) / sqrt(variance + epsilon) * scale + bias, with inputs for all of them, as a product
// and a sum (onnxruntime/core/providers/cpu/nn/batch_norm.h).
void run_batch_normalization(HostCall& call) {
  const DType dtype = common_type(call, Kind::kReals, 0, 5);
  const Shape& shape = batched_shape(call);
  bool trains = call.attribute("training_mode", std::int64_t{0}) != 0;
  for (std::size_t i = 1; i < 5; ++i) trains = trains || call.wants(i);
  if (trains) call.refuse("training outputs", "inference");
  const bool is_spatial = call.attribute("spatial", std::int64_t{1}) != 0;
  const Shape parameters =
      is_spatial ? channel_shape(shape[1], shape.size()) : Shape(shape.begin() + 1, shape.end());
  std::array<const Tensor*, 5> inputs{&call.input(0)};
  for (std::size_t i = 1; i < 5; ++i) {
    inputs[i] = &call.input(i);
    Shape unused;
    set_parameter(call, i, shape, inputs[i], unused, &parameters);
  }
  const float epsilon = call.attribute("epsilon", 1e-5F);
  Tensor* out = call.output(0, dtype, shape);
  if (out == nullptr) return;
  with_type_of<Kind::kReals>(dtype, [&]<typename T>() {
    const auto of = [&](std::size_t i) { return elements<T>(std::as_const(*inputs[i])).data(); };
    T* const y = elements<T>(*out).data();
    for_each_position(shape, std::array{broadcast_steps(parameters, shape)},
                      [&, x = of(0), scale = of(1), bias = of(2), mean = of(3), variance = of(4)](
                          std::int64_t i, const auto& at) {
                        const std::int64_t c = at[0];
                        const T inverse = 1 / std::sqrt(variance[c] + static_cast<T>(epsilon));
                        const T factor = inverse * scale[c];
                        y[i] = x[i] * factor + (bias[c] - mean[c] * factor);
                      });
  });
}

}  // namespace qsim::golden
