// The C interface of the int8 convolution: a graph of one layer, which golden/cpu executes.
#include <cmath>

#include "golden/c_interface/tensor_view.h"
#include "golden/c_interface/window.h"
#include "golden/cpu/graph_executor.h"

namespace ci = qsim::golden::c_interface;

namespace qsim::golden::c_interface {
namespace {

constexpr std::initializer_list<std::int32_t> kBytes = {QSIM_INT8, QSIM_UINT8};

Value value_of(const Call& call, const View& view, const char* zero_point_name,
               std::int32_t zero_point) {
  Value value;
  value.shape = {view.dim(0), view.dim(1), view.dim(2), view.dim(3)};
  value.dtype = view.dtype == QSIM_INT8 ? DType::kInt8 : DType::kUint8;
  value.zero_point = zero_point;
  if (zero_point < value.min() || zero_point > value.max()) {
    call.refuse_value(zero_point_name, zero_point,
                      value.is_unsigned() ? "0 to 255" : "-128 to 127");
  }
  return value;
}

Tensor tensor_of(const View& view, DType dtype) {
  Tensor tensor;
  tensor.dtype = dtype;
  tensor.shape = view.shape;
  tensor.bytes = view.values<std::byte>();
  return tensor;
}

Requantization requantization_of(const Call& call, const qsim_requantization& given,
                                 const std::vector<float>& scales) {
  if (given.rounding < QSIM_ROUND_FLOOR || given.rounding > QSIM_ROUND_FLOAT32) {
    call.refuse_value("rounding", given.rounding, "0 to 3");
  }
  Requantization result;
  result.lo = given.lo;
  result.hi = given.hi;
  for (const float real : scales) {
    const auto scale = Scale::of(real);
    if (!scale) {
      throw_bad_input(call.place("scales") + " has " + std::to_string(real) +
                      "; a scale is a positive finite number");
    }
    result.requantizers.push_back(
        requantizer_of(*scale, static_cast<RequantizerRounding>(given.rounding)));
  }
  return result;
}

}  // namespace
}  // namespace qsim::golden::c_interface

qsim_status qsim_conv2d_int8(const qsim_tensor* x, const qsim_tensor* w, const qsim_tensor* bias,
                             const qsim_window* window, int64_t groups,
                             const qsim_requantization* requantization, const qsim_tensor* y,
                             const qsim_run* run) {
  return ci::guarded([&] {
    ci::Call call("conv2d_int8", run);
    call.require("requantization", requantization);
    const ci::View from = call.tensor("x", x, ci::kBytes, 4);
    const ci::View weights = call.tensor("w", w, {QSIM_INT8}, 4);
    const ci::View to = call.tensor("y", y, ci::kBytes, 4);
    const ci::View scales = call.tensor("scales", requantization->scales, {QSIM_FLOAT32}, 1);
    qsim::Conv2d conv;
    conv.bias = qsim::Tensor(qsim::DType::kInt32, {weights.dim(0)});
    if (bias != nullptr) {
      const ci::View view = call.tensor("bias", bias, {QSIM_INT32}, 1);
      view.require_shape({weights.dim(0)});
      call.require_cpu();
      conv.bias = ci::tensor_of(view, qsim::DType::kInt32);
    }
    call.require_cpu();
    if (scales.dim(0) != 1) scales.require_shape({weights.dim(0)});
    conv.weights = ci::tensor_of(weights, qsim::DType::kInt8);
    conv.window = ci::window_of(window, weights.dim(1), weights.dim(2));
    conv.groups = groups;
    conv.requantization = ci::requantization_of(call, *requantization, scales.values<float>());
    qsim::Graph graph;
    graph.name = "conv2d_int8";
    graph.input_value() = ci::value_of(call, from, "x_zero_point", requantization->x_zero_point);
    append(graph, graph.name, std::move(conv),
           ci::value_of(call, to, "y_zero_point", requantization->y_zero_point));
    validate(graph);
    if (call.answers_query(0)) return;
    const auto outputs = qsim::golden::run_graph(
        graph, ci::tensor_of(from, graph.input_value().dtype), qsim::golden::Path::kOptimised);
    to.store(outputs.back().bytes.data());
  });
}
