// The C interface of a training layer's forward pass, and of what normalization needs of it.
#include "golden/c_interface/train_normalization.h"

namespace ci = qsim::golden::c_interface;
namespace train = qsim::golden::train;

qsim_status qsim_conv2d_real(const qsim_level_conv* conv, const qsim_tensor* scale,
                             const qsim_tensor* w_scales, const qsim_tensor* bias, int32_t relu,
                             const qsim_tensor* y, const qsim_tensor* passes, const qsim_run* run) {
  return ci::guarded([&] {
    ci::Call call("conv2d_real", run);
    train::ConvReal work;
    work.conv = ci::conv_of(call, conv, ci::Operands::kBoth);
    const qsim::ImageShape& shape = work.conv.y_shape;
    work.scale = ci::required_data<const float>(call, "scale", scale, QSIM_FLOAT32, {1});
    work.w_scales =
        ci::required_data<const float>(call, "w_scales", w_scales, QSIM_FLOAT32, {shape.channels});
    work.bias = ci::data_of<const float>(call, "bias", bias, QSIM_FLOAT32, {shape.channels});
    work.relu = ci::flag_of(call, "relu", relu);
    work.y =
        ci::real_of(call.output("y", y, ci::kReal, 4).require_shape(shape.nhwc()), ci::Keep::kAll);
    work.passes = ci::bits_of_elems(call, "passes", passes, work.y.elems());
    ci::run_train(call, work);
  });
}

qsim_status qsim_conv2d_levels(const qsim_level_conv* conv, const qsim_tensor* multipliers,
                               const qsim_tensor* bias, const qsim_tensor* y_zero_point, int32_t lo,
                               int32_t hi, int32_t relu, const qsim_tensor* y,
                               const qsim_tensor* passes, const qsim_tensor* range,
                               const qsim_run* run) {
  return ci::guarded([&] {
    ci::Call call("conv2d_levels", run);
    train::ConvLevels work;
    work.conv = ci::conv_of(call, conv, ci::Operands::kBoth);
    const qsim::Shape shape = work.conv.y_shape.nhwc();
    work.multipliers =
        ci::required_data<const float>(call, "multipliers", multipliers, QSIM_FLOAT32, {shape[3]});
    work.bias = ci::data_of<const std::int32_t>(call, "bias", bias, QSIM_INT32, {shape[3]});
    work.y_zero_point = ci::zero_point_of(call, "y_zero_point", y_zero_point);
    ci::require_range(call, "lo", lo, -128, 127);
    ci::require_range(call, "hi", hi, lo, 127);
    work.lo = lo;
    work.hi = hi;
    work.relu = ci::flag_of(call, "relu", relu);
    work.y = ci::required_data<std::int8_t>(call, "y", y, QSIM_INT8, shape);
    work.passes = ci::bits_of_elems(call, "passes", passes, qsim::element_count(shape));
    work.range = ci::data_of<float>(call, "range", range, QSIM_FLOAT32, {2});
    ci::run_train(call, work);
  });
}

qsim_status qsim_conv2d_statistics(const qsim_level_conv* conv, const qsim_tensor* sums,
                                   const qsim_run* run) {
  return ci::guarded([&] {
    ci::Call call("conv2d_statistics", run);
    train::ConvStatistics work;
    work.conv = ci::conv_of(call, conv, ci::Operands::kBoth);
    ci::require_range(call, "pixels of y", work.conv.pixels(), 0, ci::kMostPixels);
    work.sums = ci::required_data<std::int64_t>(call, "sums", sums, QSIM_INT64,
                                                {work.conv.y_shape.channels, 3});
    ci::run_train(call, work);
  });
}

qsim_status qsim_conv2d_gradient_sums(const qsim_level_conv* conv, const qsim_tensor* g,
                                      const qsim_tensor* sums, const qsim_run* run) {
  return ci::guarded([&] {
    ci::Call call("conv2d_gradient_sums", run);
    train::ConvGradientSums work;
    work.conv = ci::conv_of(call, conv, ci::Operands::kBoth);
    const qsim::Shape shape = work.conv.y_shape.nhwc();
    work.g = ci::required_data<const std::uint16_t>(call, "g", g, QSIM_BFLOAT16, shape);
    work.sums = ci::required_data<float>(call, "sums", sums, QSIM_FLOAT32, {shape[3], 2});
    ci::run_train(call, work);
  });
}

qsim_status qsim_conv2d_normalize_gradient(const qsim_level_conv* conv, const qsim_tensor* factors,
                                           const qsim_tensor* g, const qsim_run* run) {
  return ci::guarded([&] {
    ci::Call call("conv2d_normalize_gradient", run);
    train::ConvNormalizeGradient work;
    work.conv = ci::conv_of(call, conv, ci::Operands::kBoth);
    const qsim::Shape shape = work.conv.y_shape.nhwc();
    work.factors =
        ci::required_data<const float>(call, "factors", factors, QSIM_FLOAT32, {shape[3], 3});
    work.g = ci::required_data<std::uint16_t>(call, "g", g, QSIM_BFLOAT16, shape);
    ci::run_train(call, work);
  });
}
