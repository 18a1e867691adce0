#include "golden/c_interface/device_call.h"
#include "golden/c_interface/linear_views.h"
#include "golden/linear/cuda/linear_launch.h"
#include "golden/linear/cuda/quantize_weights.h"

namespace qsim::golden::c_interface {

void linear_on_device(const Call& call, const LinearViews& views, const View& x, const View& y) {
  const bool is_int8 = views.values.dtype == QSIM_INT8;
  require_dense({&x, &y, &views.scales, &views.values});
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
  if (call.answers_query(0) || x.dim(0) == 0) return;
  cuda::LinearCall layer;
  layer.x_type = float_type(x.dtype);
  layer.x = x.data;
  layer.rows = x.dim(0);
  layer.y_type = float_type(y.dtype);
  layer.y = y.data;
  on_device(call, [&] { cuda::enqueue_linear(weights, layer, call.run().stream); });
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
