// The C interface of a chain's arithmetic beside its convolutions.
#include "golden/c_interface/train_normalization.h"

namespace ci = qsim::golden::c_interface;
namespace train = qsim::golden::train;

namespace qsim::golden::c_interface {
namespace {

// Most channels, rows and weights of a channel: a block each.
constexpr std::int64_t kMost = INT32_MAX;

template <typename Work>
void run_chain(const Call& call, const Work& work) {
  if (call.answers_query(0)) return;
  if (call.is_cuda()) {
    return on_device(call, [&] { train::cuda::enqueue(work, nullptr, call.run().stream); });
  }
  CallThreads threads(call.run());
  train::compute(work, threads.team());
}

const float* floats(Call& call, const char* what, const qsim_tensor* tensor, std::int64_t count) {
  return required_data<const float>(call, what, tensor, QSIM_FLOAT32, {count});
}

// The length of a vector that says how many channels there are.
std::int64_t channels_of(Call& call, const char* what, const qsim_tensor* tensor) {
  const std::int64_t count = call.tensor(what, tensor, {QSIM_FLOAT32}, 1).dim(0);
  require_range(call, "channels", count, 0, kMost);
  return count;
}

}  // namespace
}  // namespace qsim::golden::c_interface

qsim_status qsim_normalize_statistics(const qsim_tensor* sums, int64_t pixels,
                                      const qsim_tensor* x_scale, const qsim_tensor* w_scales,
                                      const qsim_tensor* bias,
                                      const qsim_normalization* normalization,
                                      const qsim_tensor* norm, const qsim_run* run) {
  return ci::guarded([&] {
    ci::Call call("normalize_statistics", run);
    train::NormalizeStatistics work;
    work.channels = ci::channels_of(call, "w_scales", w_scales);
    work.w_scales = ci::floats(call, "w_scales", w_scales, work.channels);
    work.x_scale = ci::floats(call, "x_scale", x_scale, 1);
    work.sums = ci::data_of<const std::int64_t>(call, "sums", sums, QSIM_INT64, {work.channels, 3});
    if (work.sums != nullptr) ci::require_range(call, "pixels", pixels, 2, INT64_MAX);
    work.pixels = pixels;
    work.bias = ci::optional_floats(call, "bias", bias, work.channels);
    ci::read_normalization(call, normalization, work);
    call.require("norm", norm);
    work.norm = ci::norm_of(call, norm, work.channels);
    ci::run_chain(call, work);
  });
}

qsim_status qsim_fold_levels(const qsim_tensor* x_scale, const qsim_tensor* w_scales,
                             const qsim_tensor* y_scale, const qsim_tensor* norm,
                             const qsim_tensor* bias, const qsim_tensor* w,
                             const qsim_tensor* multipliers, const qsim_tensor* biases,
                             const qsim_tensor* w_used, const qsim_run* run) {
  return ci::guarded([&] {
    ci::Call call("fold_levels", run);
    train::FoldLevels work;
    const std::int64_t channels = ci::channels_of(call, "w_scales", w_scales);
    work.channels = channels;
    work.w_scales = ci::floats(call, "w_scales", w_scales, channels);
    work.x_scale = ci::floats(call, "x_scale", x_scale, 1);
    work.y_scale = ci::floats(call, "y_scale", y_scale, 1);
    work.norm = ci::norm_of(call, norm, channels);
    work.bias = ci::optional_floats(call, "bias", bias, channels);
    work.multipliers =
        ci::required_data<float>(call, "multipliers", multipliers, QSIM_FLOAT32, {channels});
    if (norm != nullptr || bias != nullptr) {
      const ci::View weights = call.dense_tensor("w", w, {QSIM_INT8}, 4);
      weights.require_shape({channels, weights.dim(1), weights.dim(2), weights.dim(3)});
      work.w = reinterpret_cast<const std::int8_t*>(weights.data);
      work.weights = channels == 0 ? 0 : weights.elems() / channels;
      work.w_used =
          ci::required_data<std::int8_t>(call, "w_used", w_used, QSIM_INT8, weights.shape);
      work.biases = ci::required_data<std::int32_t>(call, "biases", biases, QSIM_INT32, {channels});
    }
    ci::run_chain(call, work);
  });
}

qsim_status qsim_observe_rows(const qsim_tensor* ranges, const qsim_tensor* units,
                              const qsim_tensor* spans, int32_t observer, float momentum,
                              int32_t power_of_two, const qsim_tensor* state,
                              const qsim_tensor* first, const qsim_tensor* scales,
                              const qsim_run* run) {
  return ci::guarded([&] {
    ci::Call call("observe_rows", run);
    train::ObserveRows work;
    work.rows = ci::channels_of(call, "scales", scales);
    work.scales = ci::required_data<float>(call, "scales", scales, QSIM_FLOAT32, {work.rows});
    work.ranges =
        ci::required_data<const float>(call, "ranges", ranges, QSIM_FLOAT32, {work.rows, 2});
    work.units = ci::floats(call, "units", units, work.rows);
    work.spans = ci::floats(call, "spans", spans, work.rows);
    work.observer = ci::observer_of(call, observer, momentum);
    work.momentum = momentum;
    work.power_of_two = ci::flag_of(call, "power_of_two", power_of_two);
    work.state = ci::required_data<float>(call, "state", state, QSIM_FLOAT32, {work.rows, 3});
    work.first = ci::floats(call, "first", first, 1);
    ci::run_chain(call, work);
  });
}

qsim_status qsim_normalization_gradient(const qsim_tensor* norm, const qsim_tensor* sums,
                                        int64_t pixels, int32_t of_batch,
                                        const qsim_tensor* factors, const qsim_tensor* gamma,
                                        const qsim_tensor* beta, const qsim_tensor* bias,
                                        const qsim_run* run) {
  return ci::guarded([&] {
    ci::Call call("normalization_gradient", run);
    train::NormalizationGradient work;
    work.channels = call.tensor("sums", sums, {QSIM_FLOAT32}, 2).dim(0);
    const std::int64_t channels = work.channels;
    work.sums = ci::required_data<const float>(call, "sums", sums, QSIM_FLOAT32, {channels, 2});
    ci::require_range(call, "pixels", pixels, 0, INT64_MAX);
    work.pixels = pixels;
    work.of_batch = ci::flag_of(call, "of_batch", of_batch);
    call.require("norm", norm);
    work.norm = ci::norm_of(call, norm, channels);
    work.factors = ci::required_data<float>(call, "factors", factors, QSIM_FLOAT32, {channels, 3});
    work.gamma = ci::data_of<float>(call, "gamma", gamma, QSIM_FLOAT32, {channels});
    work.beta = ci::data_of<float>(call, "beta", beta, QSIM_FLOAT32, {channels});
    work.bias = ci::data_of<float>(call, "bias", bias, QSIM_FLOAT32, {channels});
    ci::run_chain(call, work);
  });
}
