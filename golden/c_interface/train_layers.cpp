// The C interface of a layer's whole forward and backward pass: the steps of the other calls.
#include "golden/c_interface/train_steps.h"
#include "golden/c_interface/train_views.h"
#include "golden/kernels/train/layer_steps.h"

namespace ci = qsim::golden::c_interface;
namespace train = qsim::golden::train;

namespace qsim::golden::c_interface {
namespace {

// `kept` of a convolution, or null where it is NULL.
std::byte* kept_of(Call& call, const qsim_tensor* kept, const train::LevelConv& conv, bool relu,
                   bool residuals) {
  if (kept == nullptr) return nullptr;
  const auto bytes =
      static_cast<std::int64_t>(train::KeptLayer(conv, relu, residuals, nullptr).bytes);
  const View view = call.dense_tensor("kept", kept, {QSIM_UINT8}, 1);
  require_alignment(view, 16);
  return view.require_shape({bytes}).data;
}

// The weights, and how their scales are found.
void read_weights(Call& call, const qsim_layer* given, const View& weights,
                  train::LayerForward& layer) {
  layer.w_levels = levels_of(call, given->w_levels);
  layer.one_scale = flag_of(call, "one_scale", given->one_scale);
  layer.w_step_count = layer.one_scale ? 1 : weights.dim(0);
  layer.w_steps =
      data_of<const float>(call, "w_steps", given->w_steps, QSIM_FLOAT32, {layer.w_step_count});
  const bool is_given = given->w_steps != nullptr;
  require_range(call, "scale_kind of w_levels", given->w_levels->scale_kind,
                is_given ? QSIM_SCALE_GIVEN : QSIM_SCALE_MAX,
                is_given ? QSIM_SCALE_GIVEN : QSIM_SCALE_POWER_OF_TWO);
  const bool joins = layer.one_scale && !is_given;
  layer.w = real_of(weights, joins ? Keep::kNone : Keep::kFirst);
  if (joins && layer.w.shape[0] != 1) {
    throw_bad_input(weights.name + " has 4 axes that do not join; allowed with one_scale: 3");
  }
}

// Everything of a forward pass but y, kept and state.
train::LayerForward layer_of(Call& call, const qsim_layer* given, const qsim_tensor* x) {
  call.require("layer", given);
  require_struct(call, "layer", given->struct_bytes, sizeof(qsim_layer));
  train::LayerForward layer;
  const View pictures = call.tensor("x", x, kReal, 4);
  const View weights = call.tensor("w", given->w, kReal, 4);
  layer.conv = conv_of_shapes(call, pictures, weights, given->window, given->groups);
  layer.observe.x = real_of(pictures, Keep::kNone);
  layer.observe.levels = levels_of(call, given->levels);
  read_weights(call, given, weights, layer);
  layer.observe.scale = required_data<float>(call, "scale", given->scale, QSIM_FLOAT32, {1});
  zero_point_of(call, "zero_point", given->zero_point);
  layer.observe.zero_point =
      data_of<std::int32_t>(call, "zero_point", given->zero_point, QSIM_INT32, {1});
  layer.bias = data_of<const float>(call, "bias", given->bias, QSIM_FLOAT32, {weights.dim(0)});
  layer.relu = flag_of(call, "relu", given->relu);
  layer.residuals = flag_of(call, "residuals", given->residuals);
  return layer;
}

// Gradients of learned steps, which are made with those of what they quantize.
void read_step_gradients(Call& call, const qsim_tensor* step_gradient,
                         const qsim_tensor* w_step_gradient, train::LayerBackward& work) {
  if (!work.residuals) return;
  for (const train::RealTensor* masked : {&work.dx, &work.dw}) {
    if (masked->data != nullptr &&
        (masked->type != train::RealType::kFloat32 || !masked->is_dense())) {
      const char* gradient = masked == &work.dx ? "dx" : "dw";
      throw_bad_input(call.place(gradient) +
                      " has gaps, or no elements of float32; allowed with residuals: neither");
    }
  }
  if (step_gradient != nullptr) {
    if (work.dx.elems() > 0) call.require("dx", work.dx.data);
    work.step_gradient = data_of<float>(call, "step_gradient", step_gradient, QSIM_FLOAT32, {1});
  }
  if (w_step_gradient != nullptr) {
    call.require("dw", work.dw.data);
    const View view = call.dense_tensor("w_step_gradient", w_step_gradient, {QSIM_FLOAT32}, 1);
    const std::int64_t channels = work.conv.y_shape.channels;
    work.w_step_count = view.dim(0) == 1 ? 1 : channels;
    work.w_step_gradient = reinterpret_cast<float*>(view.require_shape({work.w_step_count}).data);
  }
}

// An optional result of this shape.
train::RealTensor gradient_of(Call& call, const char* what, const qsim_tensor* tensor,
                              std::initializer_list<std::int32_t> types, const Shape& shape) {
  if (tensor == nullptr) return {};
  return real_of(call.output(what, tensor, types, 4).require_shape(shape), Keep::kAll);
}

}  // namespace
}  // namespace qsim::golden::c_interface

qsim_status qsim_layer_kept_bytes(const qsim_level_conv* conv, int32_t relu, int32_t residuals,
                                  size_t* bytes) {
  return ci::guarded([&] {
    ci::Call call("layer_kept_bytes", nullptr);
    const train::LevelConv shapes = ci::conv_of(call, conv, ci::Operands::kNone);
    call.require("bytes", bytes);
    *bytes = train::KeptLayer(shapes, ci::flag_of(call, "relu", relu),
                              ci::flag_of(call, "residuals", residuals), nullptr)
                 .bytes;
  });
}

qsim_status qsim_layer_forward(const qsim_layer* layer, const qsim_tensor* x, int32_t observer,
                               float momentum, const qsim_tensor* state, const qsim_tensor* y,
                               const qsim_tensor* kept, const qsim_run* run) {
  return ci::guarded([&] {
    ci::Call call("layer_forward", run);
    train::LayerForward work = ci::layer_of(call, layer, x);
    work.observe.observer = ci::observer_of(call, observer, momentum);
    work.observe.momentum = momentum;
    work.observe.state = ci::data_of<float>(call, "state", state, QSIM_FLOAT32, {3});
    if (work.observe.levels.scale_kind == train::ScaleKind::kAffine && state != nullptr) {
      call.require("zero_point", layer->zero_point);
    }
    const qsim::Shape shape = work.conv.y_shape.nhwc();
    work.y = ci::real_of(call.output("y", y, ci::kReal, 4).require_shape(shape), ci::Keep::kAll);
    work.kept = ci::kept_of(call, kept, work.conv, work.relu, work.residuals);
    ci::run_steps(call, work);
  });
}

qsim_status qsim_layer_backward(const qsim_level_conv* conv, int32_t relu, int32_t residuals,
                                const qsim_tensor* kept, const qsim_tensor* dy,
                                const qsim_tensor* dx, const qsim_tensor* dw,
                                const qsim_tensor* bias_gradient, const qsim_tensor* step_gradient,
                                const qsim_tensor* w_step_gradient, const qsim_run* run) {
  return ci::guarded([&] {
    ci::Call call("layer_backward", run);
    train::LayerBackward work;
    work.conv = ci::conv_of(call, conv, ci::Operands::kNone);
    work.has_zero_point = conv->zero_point != nullptr;
    work.relu = ci::flag_of(call, "relu", relu);
    work.residuals = ci::flag_of(call, "residuals", residuals);
    call.require("kept", kept);
    work.kept = ci::kept_of(call, kept, work.conv, work.relu, work.residuals);
    const qsim::ImageShape& out = work.conv.y_shape;
    work.dy =
        ci::real_of(call.tensor("dy", dy, ci::kReal, 4).require_shape(out.nhwc()), ci::Keep::kLast);
    work.dx = ci::gradient_of(call, "dx", dx, ci::kReal, work.conv.x_shape.nhwc());
    const qsim::Window& window = work.conv.window;
    work.dw =
        ci::gradient_of(call, "dw", dw, {QSIM_FLOAT32},
                        {out.channels, window.kernel_h, window.kernel_w, work.conv.in_channels()});
    work.bias_gradient =
        ci::data_of<float>(call, "bias_gradient", bias_gradient, QSIM_FLOAT32, {out.channels});
    ci::read_step_gradients(call, step_gradient, w_step_gradient, work);
    ci::run_steps(call, work);
  });
}
