// The C interface of golden/kernels/linear: weight-only linear layers.
#include "core/base/checked_math.h"
#include "golden/c_interface/linear_views.h"
#include "golden/c_interface/threads.h"
#include "golden/kernels/linear/packed_linear.h"

namespace ci = qsim::golden::c_interface;

// A layer whose weights are packed for the CPU.
struct qsim_linear {
  qsim::golden::PackedLinear layer;
  std::int64_t in_features;
  std::int64_t out_features;
};

namespace qsim::golden::c_interface {

std::int64_t group_count(const Call& call, std::int64_t in_features, std::int64_t group_size) {
  if (group_size != 0 && group_size != 32 && group_size != 64 && group_size != 128) {
    call.refuse_value("group_size", group_size, "32, 64, 128, and 0 for one group");
  }
  return group_size == 0 ? 1 : ceil_div(in_features, group_size);
}

View grouped_tensor(Call& call, const char* what, const qsim_tensor* tensor, std::int32_t type,
                    std::int64_t channels, std::int64_t groups) {
  View view = call.tensor(what, tensor, {type}, Call::kAnyRank);
  if (groups == 1 && view.shape.size() == 1) {
    view.require_shape({channels});
  } else {
    view.require_shape({channels, groups});
  }
  return view;
}

FloatMatrix matrix_of(const View& view) {
  FloatMatrix matrix(float_type(view.dtype), 0, 0);
  matrix.rows = view.dim(0);
  matrix.columns = view.dim(1);
  matrix.bytes = view.values<std::byte>();
  return matrix;
}

namespace {

// Two values a byte to one a byte; those of INT4 plus 8, as linear weights have them.
std::vector<std::int8_t> unpacked(const View& values) {
  const auto rows = static_cast<std::size_t>(values.dim(0));
  const auto columns = static_cast<std::size_t>(values.dim(1));
  const std::size_t row_bytes = (columns + 1) / 2;
  const int flip = values.dtype == QSIM_INT4 ? 8 : 0;  // two's complement: n + 8 is n ^ 8
  std::vector<std::int8_t> result(rows * columns);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t k = 0; k < columns; ++k) {
      const auto byte = std::to_integer<int>(values.data[row * row_bytes + k / 2]);
      result[row * columns + k] = static_cast<std::int8_t>((byte >> (k % 2 * 4) & 15) ^ flip);
    }
  }
  return result;
}

std::vector<std::uint8_t> zero_points_of(const Call& call, const LinearViews& views) {
  if (!views.zero_points) {
    return std::vector<std::uint8_t>(static_cast<std::size_t>(views.scales.elems()), 8);
  }
  const bool is_signed = views.values.dtype == QSIM_INT4;
  std::vector<std::uint8_t> points = views.zero_points->values<std::uint8_t>();
  for (std::uint8_t& point : points) {
    point = static_cast<std::uint8_t>(is_signed ? point + 8 : point);
    if (point > 15) {
      call.refuse_value("a zero_point", is_signed ? static_cast<std::int8_t>(point - 8) : point,
                        is_signed ? "-8 to 7" : "0 to 15");
    }
  }
  return points;
}

struct Layer {
  LinearWeights weights;
  std::vector<float> bias;
};

LinearViews views_of(Call& call, const qsim_linear_weights* given, const qsim_tensor* bias) {
  call.require("weights", given);
  LinearViews views{call.tensor("values", given->values, {QSIM_INT8, QSIM_INT4, QSIM_UINT4}, 2),
                    {},
                    {},
                    {},
                    given->group_size};
  const std::int64_t channels = views.values.dim(0);
  const std::int64_t groups = group_count(call, views.values.dim(1), given->group_size);
  views.scales = grouped_tensor(call, "scales", given->scales, QSIM_FLOAT32, channels, groups);
  if (given->zero_points != nullptr) {
    if (views.values.dtype == QSIM_INT8) {
      throw_bad_input(call.place("zero_points") +
                      " are given with values of int8, which have none");
    }
    const std::int32_t type = views.values.dtype == QSIM_INT4 ? QSIM_INT8 : QSIM_UINT8;
    views.zero_points =
        grouped_tensor(call, "zero_points", given->zero_points, type, channels, groups);
  }
  if (bias != nullptr) {
    views.bias = call.tensor("bias", bias, {QSIM_FLOAT32}, 1);
    views.bias->require_shape({channels});
  }
  check_sizes(channels, views.values.dim(1), given->group_size,
              views.values.dtype == QSIM_INT8 ? 8 : 4);
  return views;
}

// The layer of tensors on the CPU.
Layer layer_of(const Call& call, const LinearViews& views) {
  Layer layer;
  LinearWeights& weights = layer.weights;
  weights.out_features = views.values.dim(0);
  weights.in_features = views.values.dim(1);
  weights.group_size = views.group_size;
  if (views.values.dtype == QSIM_INT8) {
    weights.values = views.values.values<std::int8_t>();
  } else {
    weights.bits = 4;
    weights.values = unpacked(views.values);
    weights.zero_points = zero_points_of(call, views);
  }
  weights.scales = views.scales.values<float>();
  if (views.bias) layer.bias = views.bias->values<float>();
  return layer;
}

struct Ends {
  View x;
  View y;
};

Ends ends_of(Call& call, const qsim_tensor* x, const qsim_tensor* y) {
  return {call.tensor("x", x, kFloats, 2), call.output("y", y, kFloats, 2)};
}

// Checks x against the layer's sizes; `weights` has all of them, and may lack the values.
void require_sizes(const Ends& ends, std::int64_t in_features, std::int64_t out_features) {
  ends.x.require_shape({ends.x.dim(0), in_features});
  ends.y.require_shape({ends.x.dim(0), out_features});
}

}  // namespace
}  // namespace qsim::golden::c_interface

qsim_status qsim_linear_w8(const qsim_tensor* x, const qsim_linear_weights* weights,
                           const qsim_tensor* bias, const qsim_tensor* y, const qsim_run* run) {
  return ci::guarded([&] {
    ci::Call call("linear_w8", run);
    const ci::Ends ends = ci::ends_of(call, x, y);
    const ci::LinearViews views = ci::views_of(call, weights, bias);
    ci::require_sizes(ends, views.values.dim(1), views.values.dim(0));
    if (call.is_cuda()) return ci::linear_on_device(call, views, ends.x, ends.y);
    if (call.answers_query(0) || ends.x.dim(0) == 0) return;
    const ci::Layer layer = ci::layer_of(call, views);
    const auto matrix = ci::matrix_of(ends.x);
    if (call.run().check_values != 0) check_values(matrix, layer.weights, layer.bias);
    ci::CallThreads threads(call.run());
    const qsim::golden::PackedLinear packed(layer.weights, layer.bias);
    ends.y.store(packed.run(matrix, ci::float_type(ends.y.dtype), threads.team()).bytes.data());
  });
}

qsim_status qsim_linear_w8a8(const qsim_tensor* x, const float* x_scale,
                             const qsim_linear_weights* weights, const qsim_tensor* bias,
                             const qsim_tensor* y, const qsim_run* run) {
  return ci::guarded([&] {
    ci::Call call("linear_w8a8", run);
    const ci::Ends ends = ci::ends_of(call, x, y);
    const ci::LinearViews views = ci::views_of(call, weights, bias);
    ci::require_sizes(ends, views.values.dim(1), views.values.dim(0));
    qsim::golden::Int8Activations activations;
    if (x_scale != nullptr) activations.scale = *x_scale;
    qsim::golden::check_int8_activations(views.group_size, views.values.dtype == QSIM_INT8 ? 8 : 4,
                                         activations);
    if (call.is_cuda()) {
      return ci::int8_linear_on_device(call, views, activations, ends.x, ends.y);
    }
    if (call.answers_query(0) || ends.x.dim(0) == 0) return;
    const ci::Layer layer = ci::layer_of(call, views);
    const auto matrix = ci::matrix_of(ends.x);
    if (call.run().check_values != 0) check_values(matrix, layer.weights, layer.bias);
    ci::CallThreads threads(call.run());
    const qsim::golden::PackedLinear packed(layer.weights, layer.bias);
    const auto type = ci::float_type(ends.y.dtype);
    ends.y.store(packed.run_int8(matrix, activations, type, threads.team()).bytes.data());
  });
}

qsim_status qsim_linear_create(const qsim_linear_weights* weights, const qsim_tensor* bias,
                               const qsim_run* run, qsim_linear** linear) {
  return ci::guarded([&] {
    ci::Call call("linear_create", run);
    call.require("linear", linear);
    const ci::LinearViews views = ci::views_of(call, weights, bias);
    call.require_cpu();
    if (call.answers_query(0)) return;
    const ci::Layer layer = ci::layer_of(call, views);
    if (call.run().check_values != 0) check_values({}, layer.weights, layer.bias);
    *linear = new qsim_linear{qsim::golden::PackedLinear(layer.weights, layer.bias),
                              layer.weights.in_features, layer.weights.out_features};
  });
}

qsim_status qsim_linear_run(const qsim_linear* linear, const qsim_tensor* x, const qsim_tensor* y,
                            const qsim_run* run) {
  return ci::guarded([&] {
    ci::Call call("linear_run", run);
    call.require("linear", linear);
    const ci::Ends ends = ci::ends_of(call, x, y);
    ci::require_sizes(ends, linear->in_features, linear->out_features);
    call.require_cpu();
    if (call.answers_query(0) || ends.x.dim(0) == 0) return;
    ci::CallThreads threads(call.run());
    const auto matrix = ci::matrix_of(ends.x);
    ends.y.store(
        linear->layer.run(matrix, ci::float_type(ends.y.dtype), threads.team()).bytes.data());
  });
}

void qsim_linear_destroy(qsim_linear* linear) { delete linear; }
