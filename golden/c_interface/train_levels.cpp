// The C interface of levels: observers, quantizers, step sizes.
#include <string>

#include "golden/c_interface/train_views.h"

namespace ci = qsim::golden::c_interface;
namespace train = qsim::golden::train;

namespace qsim::golden::c_interface {

train::Observer observer_of(const Call& call, std::int32_t observer, float momentum) {
  require_range(call, "observer", observer, QSIM_OBSERVE_LAST, QSIM_OBSERVE_AVERAGE);
  if (observer == QSIM_OBSERVE_AVERAGE && !(momentum >= 0 && momentum <= 1)) {
    throw_bad_input(call.place("momentum") + " is " + std::to_string(momentum) +
                    "; allowed: 0 to 1");
  }
  return static_cast<train::Observer>(observer);
}

namespace {

std::int64_t first_axis(const View& view) { return view.shape.empty() ? 1 : view.dim(0); }

}  // namespace
}  // namespace qsim::golden::c_interface

qsim_status qsim_observe(const qsim_tensor* x, int32_t observer, float momentum,
                         const qsim_levels* levels, const qsim_tensor* state,
                         const qsim_tensor* scale, const qsim_tensor* zero_point,
                         const qsim_run* run) {
  return ci::guarded([&] {
    ci::Call call("observe", run);
    train::Observe work;
    if (x != nullptr) {
      work.x = ci::real_of(call.tensor("x", x, ci::kReal, ci::Call::kAnyRank), ci::Keep::kNone);
    }
    work.observer = ci::observer_of(call, observer, momentum);
    work.momentum = momentum;
    work.levels = ci::levels_of(call, levels);
    work.state = ci::required_data<float>(call, "state", state, QSIM_FLOAT32, {3});
    if (work.levels.scale_kind != train::ScaleKind::kGiven) {
      work.scale = ci::required_data<float>(call, "scale", scale, QSIM_FLOAT32, {1});
    }
    if (work.levels.scale_kind == train::ScaleKind::kAffine) call.require("zero_point", zero_point);
    work.zero_point = ci::data_of<std::int32_t>(call, "zero_point", zero_point, QSIM_INT32, {1});
    ci::run_train(call, work);
  });
}

qsim_status qsim_quantize_levels(const qsim_tensor* x, const qsim_levels* levels,
                                 const qsim_tensor* scale, const qsim_tensor* zero_point,
                                 const qsim_tensor* q, const qsim_tensor* passes,
                                 const qsim_tensor* residual, const qsim_run* run) {
  return ci::guarded([&] {
    ci::Call call("quantize_levels", run);
    const ci::View from = call.tensor("x", x, ci::kReal, ci::Call::kAnyRank);
    train::QuantizeLevels work;
    work.x = ci::real_of(from, ci::Keep::kNone);
    work.levels = ci::levels_of(call, levels);
    work.scale = ci::required_data<const float>(call, "scale", scale, QSIM_FLOAT32, {1});
    work.zero_point = ci::zero_point_of(call, "zero_point", zero_point);
    work.q = ci::required_data<std::int8_t>(call, "q", q, QSIM_INT8, from.shape);
    work.passes = ci::bits_of_elems(call, "passes", passes, from.elems());
    work.residual = ci::data_of<std::int8_t>(call, "residual", residual, QSIM_INT8, from.shape);
    ci::run_train(call, work);
  });
}

qsim_status qsim_quantize_weights(const qsim_tensor* w, const qsim_levels* levels,
                                  const qsim_tensor* scales, const qsim_tensor* q,
                                  const qsim_tensor* passes, const qsim_tensor* residual,
                                  const qsim_run* run) {
  return ci::guarded([&] {
    ci::Call call("quantize_weights", run);
    const ci::View from = call.tensor("w", w, ci::kReal, ci::Call::kAnyRank);
    if (from.shape.empty())
      qsim::throw_bad_input(from.name + " has 0 dimensions; allowed: 1 to 16");
    train::QuantizeWeights work;
    work.w = ci::real_of(from, ci::Keep::kFirst);
    work.levels = ci::levels_of(call, levels);
    ci::require_range(call, "scale_kind", levels->scale_kind, QSIM_SCALE_GIVEN,
                      QSIM_SCALE_POWER_OF_TWO);
    work.scales = ci::required_data<float>(call, "scales", scales, QSIM_FLOAT32, {from.dim(0)});
    work.q = ci::required_data<std::int8_t>(call, "q", q, QSIM_INT8, from.shape);
    work.passes = ci::bits_of_elems(call, "passes", passes, from.elems());
    work.residual = ci::data_of<std::int8_t>(call, "residual", residual, QSIM_INT8, from.shape);
    ci::run_train(call, work);
  });
}

qsim_status qsim_step_gradient(const qsim_tensor* dq, const qsim_tensor* q,
                               const qsim_tensor* zero_point, const qsim_tensor* passes,
                               const qsim_tensor* residual, int32_t per_channel,
                               const qsim_tensor* dx, const qsim_tensor* step_gradient,
                               const qsim_run* run) {
  return ci::guarded([&] {
    ci::Call call("step_gradient", run);
    const ci::View from = call.dense_tensor("dq", dq, {QSIM_FLOAT32}, ci::Call::kAnyRank);
    train::StepGradient work;
    work.dq = reinterpret_cast<const float*>(from.data);
    work.elems = from.elems();
    work.channels = ci::flag_of(call, "per_channel", per_channel) ? ci::first_axis(from) : 1;
    work.q = ci::required_data<const std::int8_t>(call, "q", q, QSIM_INT8, from.shape);
    work.zero_point = ci::zero_point_of(call, "zero_point", zero_point);
    call.require("passes", passes);
    work.passes = ci::bits_of_elems(call, "passes", passes, from.elems());
    work.residual =
        ci::required_data<const std::int8_t>(call, "residual", residual, QSIM_INT8, from.shape);
    work.dx = ci::required_data<float>(call, "dx", dx, QSIM_FLOAT32, from.shape);
    work.step_gradient = ci::required_data<float>(call, "step_gradient", step_gradient,
                                                  QSIM_FLOAT32, {work.channels});
    ci::run_train(call, work);
  });
}
