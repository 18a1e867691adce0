#include "golden/c_interface/device_call.h"
#include "golden/c_interface/linear_views.h"
#include "golden/kernels/linear/cuda/int8_launch.h"
#include "golden/kernels/linear/cuda/linear_launch.h"
#include "golden/kernels/linear/cuda/quantize_weights.h"

namespace qsim::golden::c_interface {

namespace {

cuda::DeviceWeights device_weights(const Call& call, const LinearViews& views) {
  const bool is_int8 = views.values.dtype == QSIM_INT8;
  require_dense({&views.scales, &views.values});
  cuda::DeviceWeights weights;
  weights.out_features = views.values.dim(0);
  weights.in_features = views.values.dim(1);
  weights.group_size = views.group_size;
  weights.bits = is_int8 ? 8 : 4;
  weights.is_signed = views.values.dtype == QSIM_INT4;
  weights.values = views.values.data;
  weights.row_bytes = is_int8 ? weights.in_features : (weights.in_features + 1) / 2;
  weights.readable_bytes = weights.row_bytes;
  weights.scales = reinterpret_cast<const float*>(views.scales.data);
  if (views.zero_points) {
    require_dense({&*views.zero_points});
    weights.zero_points = views.zero_points->data;
  }
  if (views.bias) {
    require_dense({&*views.bias});
    weights.bias = reinterpret_cast<const float*>(views.bias->data);
  }
  weights.constant = call.run().constant_weights != 0;
  return weights;
}

// x and y of a call of either kind.
template <typename LayerCall>
LayerCall layer_call(const View& x, const View& y) {
  require_dense({&x, &y});
  LayerCall layer;
  layer.x_type = float_type(x.dtype);
  layer.x = x.data;
  layer.rows = x.dim(0);
  layer.y_type = float_type(y.dtype);
  layer.y = y.data;
  return layer;
}

}  // namespace

void linear_on_device(const Call& call, const LinearViews& views, const View& x, const View& y) {
  const auto layer = layer_call<cuda::LinearCall>(x, y);
  const cuda::DeviceWeights weights = device_weights(call, views);
  if (call.answers_query(0) || x.dim(0) == 0) return;
  on_device(call, [&] { cuda::enqueue_linear(weights, layer, call.run().stream); });
}

void int8_linear_on_device(const Call& call, const LinearViews& views,
                           const Int8Activations& activations, const View& x, const View& y) {
  auto layer = layer_call<cuda::Int8LinearCall>(x, y);
  const cuda::DeviceWeights weights = device_weights(call, views);
  const auto bytes =
      static_cast<std::size_t>(cuda::int8_workspace_bytes(layer.rows, weights.in_features));
  if (call.answers_query(bytes)) return;
  call.require_workspace(bytes);
  if (x.dim(0) == 0) return;
  layer.activations = activations;
  layer.workspace = call.run().workspace;
  on_device(call, [&] { cuda::enqueue_int8_linear(weights, layer, call.run().stream); });
}

void quantize_weights_on_device(const Call& call, const QuantizerViews& views) {
  require_dense({&views.values, &views.scales});
  cuda::WeightsToQuantize weights;
  weights.type = float_type(views.w.dtype);
  weights.floats = views.w.data;
  weights.row_stride = views.w.strides[0];
  weights.column_stride = views.w.strides[1];
  weights.out_features = views.w.dim(0);
  weights.in_features = views.w.dim(1);
  weights.group_size = views.group_size;
  weights.bits = views.values.dtype == QSIM_INT8 ? 8 : 4;
  weights.is_signed = views.values.dtype == QSIM_INT4;
  weights.symmetric = !views.zero_points;
  weights.values = views.values.data;
  weights.scales = reinterpret_cast<float*>(views.scales.data);
  if (views.zero_points) {
    require_dense({&*views.zero_points});
    weights.zero_points = reinterpret_cast<std::uint8_t*>(views.zero_points->data);
  }
  if (call.answers_query(0)) return;
  on_device(call, [&] { cuda::enqueue_quantize(weights, call.run().stream); });
}

}  // namespace qsim::golden::c_interface
