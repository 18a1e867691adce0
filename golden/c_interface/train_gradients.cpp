// The C interface of pools of levels and of the gradients of convolutions.
#include "golden/c_interface/train_views.h"

namespace ci = qsim::golden::c_interface;
namespace train = qsim::golden::train;

namespace qsim::golden::c_interface {
namespace {

// Throws Error where some window along an axis has pads alone.
void require_input(const Call& call, const char* axis, std::int64_t outputs, std::int64_t size,
                   std::int64_t stride, std::int64_t pad, std::int64_t dilation,
                   std::int64_t kernel) {
  for (std::int64_t out = 0; out < outputs; ++out) {
    const std::int64_t begin = out * stride - pad;
    const std::int64_t skipped = begin < 0 ? (-begin + dilation - 1) / dilation : 0;
    if (skipped < kernel && begin + skipped * dilation < size) continue;
    throw_bad_input(call.place("window") + " " + std::to_string(out) + " of the " + axis +
                    " has pads alone");
  }
}

// Pictures that a pool reads, and what it makes of them: `Pool` has q, x_shape, y_shape, window.
template <typename Pool>
void read_pool(Call& call, const qsim_tensor* q, std::int64_t kernel_h, std::int64_t kernel_w,
               const qsim_window* window, Pool& pool) {
  const View from = call.dense_tensor("q", q, {QSIM_INT8}, 4);
  pool.q = reinterpret_cast<const std::int8_t*>(from.data);
  pool.x_shape = image_of(from);
  pool.window = checked_window(call, window, kernel_h, kernel_w);
  const Window& w = pool.window;
  pool.y_shape = shape_under(call, w, pool.x_shape, pool.x_shape.channels);
  require_input(call, "rows", pool.y_shape.height, pool.x_shape.height, w.stride_h, w.pad_top,
                w.dilation_h, w.kernel_h);
  require_input(call, "columns", pool.y_shape.width, pool.x_shape.width, w.stride_w, w.pad_left,
                w.dilation_w, w.kernel_w);
}

}  // namespace
}  // namespace qsim::golden::c_interface

qsim_status qsim_max_pool_levels(const qsim_tensor* q, int64_t kernel_h, int64_t kernel_w,
                                 const qsim_window* window, const qsim_tensor* y,
                                 const qsim_run* run) {
  return ci::guarded([&] {
    ci::Call call("max_pool_levels", run);
    train::MaxPool work;
    ci::read_pool(call, q, kernel_h, kernel_w, window, work);
    work.y = ci::required_data<std::int8_t>(call, "y", y, QSIM_INT8, work.y_shape.nhwc());
    ci::run_train(call, work);
  });
}

qsim_status qsim_max_pool_gradient(const qsim_tensor* q, int64_t kernel_h, int64_t kernel_w,
                                   const qsim_window* window, const qsim_tensor* dy,
                                   const qsim_tensor* passes, const qsim_tensor* dx,
                                   const qsim_run* run) {
  return ci::guarded([&] {
    ci::Call call("max_pool_gradient", run);
    train::MaxPoolGradient work;
    ci::read_pool(call, q, kernel_h, kernel_w, window, work);
    work.dy = ci::real_of(call.tensor("dy", dy, ci::kReal, 4).require_shape(work.y_shape.nhwc()),
                          ci::Keep::kAll);
    work.dx = ci::real_of(call.output("dx", dx, ci::kReal, 4).require_shape(work.x_shape.nhwc()),
                          ci::Keep::kAll);
    work.passes = ci::bits_of_elems(call, "passes", passes, work.dx.elems());
    ci::run_train(call, work);
  });
}

qsim_status qsim_gradient_operand(const qsim_tensor* dy, const qsim_tensor* passes,
                                  const qsim_tensor* g, const qsim_tensor* bias_gradient,
                                  const qsim_run* run) {
  return ci::guarded([&] {
    ci::Call call("gradient_operand", run);
    const ci::View from = call.tensor("dy", dy, ci::kReal, ci::Call::kAnyRank);
    train::GradientOperand work;
    work.dy = ci::real_of(from, ci::Keep::kLast);
    work.passes = ci::bits_of_elems(call, "passes", passes, from.elems());
    work.g = ci::required_data<std::uint16_t>(call, "g", g, QSIM_BFLOAT16, from.shape);
    work.bias_gradient =
        ci::data_of<float>(call, "bias_gradient", bias_gradient, QSIM_FLOAT32, {work.dy.shape[3]});
    ci::run_train(call, work);
  });
}

qsim_status qsim_conv2d_input_gradient(const qsim_level_conv* conv, const qsim_tensor* w_scales,
                                       const qsim_tensor* g, const qsim_tensor* passes,
                                       const qsim_tensor* dx, const qsim_run* run) {
  return ci::guarded([&] {
    ci::Call call("conv2d_input_gradient", run);
    train::ConvInputGradient work;
    work.conv = ci::conv_of(call, conv, ci::Operands::kWeights);
    const qsim::Shape shape = work.conv.y_shape.nhwc();
    work.w_scales =
        ci::required_data<const float>(call, "w_scales", w_scales, QSIM_FLOAT32, {shape[3]});
    work.g = ci::required_data<const std::uint16_t>(call, "g", g, QSIM_BFLOAT16, shape);
    work.dx =
        ci::real_of(call.output("dx", dx, ci::kReal, 4).require_shape(work.conv.x_shape.nhwc()),
                    ci::Keep::kAll);
    work.passes = ci::bits_of_elems(call, "passes", passes, work.dx.elems());
    ci::run_train(call, work);
  });
}

qsim_status qsim_conv2d_weight_gradient(const qsim_level_conv* conv, const qsim_tensor* scale,
                                        const qsim_tensor* g, const qsim_tensor* passes,
                                        const qsim_tensor* dw, const qsim_run* run) {
  return ci::guarded([&] {
    ci::Call call("conv2d_weight_gradient", run);
    train::ConvWeightGradient work;
    work.conv = ci::conv_of(call, conv, ci::Operands::kLevels);
    const train::LevelConv& of = work.conv;
    work.scale = ci::required_data<const float>(call, "scale", scale, QSIM_FLOAT32, {1});
    work.g = ci::required_data<const std::uint16_t>(call, "g", g, QSIM_BFLOAT16, of.y_shape.nhwc());
    const qsim::Shape shape = {of.y_shape.channels, of.window.kernel_h, of.window.kernel_w,
                               of.in_channels()};
    work.dw =
        ci::real_of(call.output("dw", dw, {QSIM_FLOAT32}, 4).require_shape(shape), ci::Keep::kAll);
    work.passes = ci::bits_of_elems(call, "passes", passes, work.dw.elems());
    ci::run_train(call, work);
  });
}
