#include "golden/c_interface/conv2d_views.h"
#include "golden/c_interface/device_call.h"
#include "golden/graph/cuda/tensors/conv_tensors.h"

namespace qsim::golden::c_interface {
namespace {

cuda::Strides4 conv_strides(const View& view) {
  return {view.strides[0], view.strides[1], view.strides[2], view.strides[3]};
}

}  // namespace

void conv2d_on_device(const Call& call, const Conv2dViews& views,
                      const qsim_requantization& requantization) {
  require_dense({&views.y});
  if (call.answers_query(0) || views.y.elems() == 0) return;
  cuda::TensorConv conv;
  conv.x = reinterpret_cast<const std::uint8_t*>(views.x.data);
  conv.x_strides = conv_strides(views.x);
  conv.x_shape = image_of(views.x);
  conv.x_is_unsigned = views.x.dtype == QSIM_UINT8;
  conv.x_zero_point = requantization.x_zero_point;
  conv.weights = reinterpret_cast<const std::int8_t*>(views.weights.data);
  conv.weight_strides = conv_strides(views.weights);
  conv.groups = views.groups;
  conv.window = views.window;
  if (views.bias) {
    conv.bias = reinterpret_cast<const std::int32_t*>(views.bias->data);
    conv.bias_stride = views.bias->strides[0];
  }
  conv.scales = reinterpret_cast<const float*>(views.scales.data);
  conv.scale_stride = views.scales.dim(0) == 1 ? 0 : views.scales.strides[0];
  conv.rounding = static_cast<RequantizerRounding>(requantization.rounding);
  conv.y_zero_point = requantization.y_zero_point;
  conv.lo = requantization.lo;
  conv.hi = requantization.hi;
  conv.y = reinterpret_cast<std::uint8_t*>(views.y.data);
  conv.y_shape = image_of(views.y);
  on_device(call, [&] { cuda::enqueue_conv(conv, call.run().stream); });
}

}  // namespace qsim::golden::c_interface
