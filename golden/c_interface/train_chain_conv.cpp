// The C interface of a chain's convolution in one call: the steps of the other calls.
#include "golden/c_interface/train_normalization.h"
#include "golden/c_interface/train_steps.h"
#include "golden/kernels/train/chain_steps.h"

namespace ci = qsim::golden::c_interface;
namespace train = qsim::golden::train;

namespace qsim::golden::c_interface {
namespace {

// The weights: real ones that become conv->w and w_scales, or these as they are.
void read_weights(Call& call, const qsim_chain_convolution* given, train::ChainConvolution& work) {
  const train::LevelConv& conv = work.conv.conv;
  auto* w_scales = required_data<float>(call, "w_scales", given->w_scales, QSIM_FLOAT32,
                                        {conv.y_shape.channels});
  work.w_scales = w_scales;
  if (given->w == nullptr) return;
  const Shape shape = {conv.y_shape.channels, conv.window.kernel_h, conv.window.kernel_w,
                       conv.in_channels()};
  work.weights.w = real_of(call.tensor("w", given->w, kReal, 4).require_shape(shape), Keep::kFirst);
  work.weights.levels = levels_of(call, given->w_levels);
  require_range(call, "scale_kind of w_levels", given->w_levels->scale_kind, QSIM_SCALE_MAX,
                QSIM_SCALE_POWER_OF_TWO);
  work.weights.scales = w_scales;
  work.weights.q = const_cast<std::int8_t*>(conv.w);
}

void read_norm(Call& call, const qsim_chain_convolution* given, train::ChainConvolution& work) {
  if (given->norm == nullptr) return;
  const train::LevelConv& conv = work.conv.conv;
  work.norm.channels = conv.y_shape.channels;
  work.norm.norm = norm_of(call, given->norm, work.norm.channels);
  work.norm.x_scale = work.x_scale;
  work.norm.w_scales = work.w_scales;
  work.norm.bias = work.bias;
  work.norm.pixels = conv.pixels();
  work.of_batch = flag_of(call, "of_batch", given->of_batch);
  if (work.of_batch) require_range(call, "pixels of y", conv.pixels(), 2, kMostPixels);
  read_normalization(call, given->normalization, work.norm);
}

// Where the scale is measured, `span`.
void read_scale(Call& call, const qsim_chain_convolution* given, train::ChainConvolution& work) {
  work.y_scale = required_data<float>(call, "y_scale", given->y_scale, QSIM_FLOAT32, {1});
  work.span = data_of<const float>(call, "span", given->span, QSIM_FLOAT32, {1});
  work.power_of_two = flag_of(call, "power_of_two", given->power_of_two);
  if (work.span != nullptr) call.require("range", given->range);
}

}  // namespace
}  // namespace qsim::golden::c_interface

qsim_status qsim_chain_forward(const qsim_level_conv* conv, const qsim_chain_convolution* step,
                               const qsim_tensor* y, const qsim_tensor* passes,
                               const qsim_run* run) {
  return ci::guarded([&] {
    ci::Call call("chain_forward", run);
    train::ChainConvolution work;
    work.conv.conv = ci::conv_of(call, conv, ci::Operands::kBoth);
    const qsim::Shape shape = work.conv.conv.y_shape.nhwc();
    call.require("step", step);
    ci::require_struct(call, "chain_convolution", step->struct_bytes,
                       sizeof(qsim_chain_convolution));
    work.x_scale =
        ci::required_data<const float>(call, "x_scale", step->x_scale, QSIM_FLOAT32, {1});
    work.bias = ci::data_of<const float>(call, "bias", step->bias, QSIM_FLOAT32, {shape[3]});
    ci::read_weights(call, step, work);
    ci::read_norm(call, step, work);
    ci::read_scale(call, step, work);
    work.conv.y_zero_point = ci::zero_point_of(call, "y_zero_point", step->y_zero_point);
    work.conv.relu = ci::flag_of(call, "relu", step->relu);
    work.conv.range = ci::data_of<float>(call, "range", step->range, QSIM_FLOAT32, {2});
    work.conv.y = ci::required_data<std::int8_t>(call, "y", y, QSIM_INT8, shape);
    work.conv.passes = ci::bits_of_elems(call, "passes", passes, qsim::element_count(shape));
    ci::run_steps(call, work);
  });
}
