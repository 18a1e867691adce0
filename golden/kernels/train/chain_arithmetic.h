// What a chain's calls compute of one channel or one tensor: the one definition for host and
// device. Each operation is rounded by itself, so the including file must be compiled without
// contraction to fused multiply-adds.
#pragma once

#include <cmath>

#include "golden/kernels/train/chain_calls.h"
#include "golden/kernels/train/level_arithmetic.h"

namespace qsim::golden::train {

inline constexpr double kLargestBias = 0x1p30;  // sums of 2^16 products and it stay within int32

// The greater; NaN where one is.
QSIM_HOST_DEVICE inline float greater(float a, float b) { return a > b || a != a ? a : b; }
QSIM_HOST_DEVICE inline double greater(double a, double b) { return a > b || a != a ? a : b; }

// Moves a running statistic as torch.nn.BatchNorm2d does.
QSIM_HOST_DEVICE inline float moved(float running, double now, double share) {
  const float rest = running * static_cast<float>(1 - share);
  return static_cast<float>(static_cast<double>(rest) + now * share);
}

// batches: those seen, with this one.
QSIM_HOST_DEVICE inline void normalize_channel(const NormalizeStatistics& call, std::int64_t o,
                                               std::int64_t batches) {
  const double unit = static_cast<double>(*call.x_scale) * static_cast<double>(call.w_scales[o]);
  const double bias = call.bias == nullptr ? 0 : static_cast<double>(call.bias[o]);
  double mean = 0;
  double variance = 0;
  if (call.sums == nullptr) {
    mean = static_cast<double>(call.running_mean[o]);
    if (call.bias != nullptr) mean = mean - bias;
    mean = mean / unit;
    variance = static_cast<double>(call.running_var[o]);
  } else {
    const auto count = static_cast<double>(call.pixels);
    const std::int64_t* sums = call.sums + 3 * o;
    mean = static_cast<double>(sums[0]) / count;
    const double square =
        (static_cast<double>(sums[1]) + static_cast<double>(sums[2]) * 0x1p32) / count;
    const double spread = square - mean * mean;
    variance = (spread < 0 ? 0 : spread) * (unit * unit);
    double now = mean * unit;
    if (call.bias != nullptr) now = now + bias;
    const double share = call.momentum < 0 ? 1 / static_cast<double>(batches) : call.momentum;
    call.running_mean[o] = moved(call.running_mean[o], now, share);
    call.running_var[o] = moved(call.running_var[o], variance * (count / (count - 1)), share);
  }
  const double inverse = 1 / std::sqrt(variance + call.eps);
  const double gain =
      call.gamma == nullptr ? inverse : static_cast<double>(call.gamma[o]) * inverse;
  double offset = -gain * unit * mean;
  if (call.beta != nullptr) offset = offset + static_cast<double>(call.beta[o]);
  const double made[5] = {gain, offset, mean, inverse, unit};
  for (int i = 0; i < 5; ++i) call.norm[i * call.channels + o] = made[i];
}

// Whether the channel's weights are read; else they are taken for 0.
QSIM_HOST_DEVICE inline bool fold_channel(const FoldLevels& call, std::int64_t o) {
  const float x_scale = *call.x_scale;
  const float y_scale = *call.y_scale;
  if (call.biases == nullptr) {
    call.multipliers[o] = x_scale * call.w_scales[o] / y_scale;
    return true;
  }
  double wide = static_cast<double>(call.w_scales[o]);
  double offset = 0;
  bool is_negative = false;
  if (call.norm == nullptr) {
    offset = static_cast<double>(call.bias[o]);
  } else {
    const double gain = call.norm[o];
    wide = wide * std::fabs(gain);
    offset = call.norm[call.channels + o];
    is_negative = gain < 0;
  }
  const double x = static_cast<double>(x_scale);
  const double least =
      greater(std::fabs(offset), static_cast<double>(y_scale)) / (kLargestBias * x);
  const float w_scale = greater(static_cast<float>(greater(wide, least)), kLeastScale);
  const float multiplier = x_scale * w_scale / y_scale;
  const double rounded = std::rint(offset / (x * static_cast<double>(w_scale)));
  const double bias = rounded < -kLargestBias  ? -kLargestBias
                      : rounded > kLargestBias ? kLargestBias
                      : rounded == rounded     ? rounded
                                               : 0;
  call.multipliers[o] = is_negative ? -multiplier : multiplier;
  call.biases[o] = static_cast<std::int32_t>(is_negative ? -bias : bias);
  return wide >= least;
}

// The scale of a range that has 0 in it, by `span` levels above 0.
QSIM_HOST_DEVICE inline float scale_of_range(float least, float most, float span,
                                             bool power_of_two) {
  const float reach = greater(-least, most);
  if (!(reach > 0)) return 1;
  const float scale = greater(reach / span, kLeastScale);
  return power_of_two ? float_of((bits_of(scale) + 0x7FFFFF) & 0x7F800000) : scale;
}

inline constexpr float kLeastTrial = 0x1p-60F;

// What 1 of a channel's sums is in y.
QSIM_HOST_DEVICE inline double unit_of_channel(const TrialScale& call, std::int64_t o) {
  const auto unit = static_cast<double>(*call.x_scale * call.w_scales[o]);
  return call.norm == nullptr ? unit : unit * std::fabs(call.norm[o]);
}

QSIM_HOST_DEVICE inline float trial_of_unit(double most) {
  return greater(static_cast<float>(most), kLeastTrial);
}

QSIM_HOST_DEVICE inline void measure_scale(const MeasureScale& call) {
  call.range[0] = call.seen[0] * *call.trial;
  call.range[1] = call.seen[1] * *call.trial;
  *call.scale = scale_of_range(call.range[0], call.range[1], *call.span, call.power_of_two);
}

QSIM_HOST_DEVICE inline void observe_row(const ObserveRows& call, std::int64_t row) {
  if (row == 0) {
    call.scales[0] = *call.first;
    return;
  }
  const float least = call.ranges[2 * row] * call.units[row];
  const float most = call.ranges[2 * row + 1] * call.units[row];
  float* state = call.state + 3 * row;
  if (call.observer == Observer::kAll) {
    state[0] = -greater(-state[0], -least);
    state[1] = greater(state[1], most);
  } else if (call.observer == Observer::kAverage && (state[0] < 0 || state[1] > 0)) {
    state[0] = state[0] + call.momentum * (least - state[0]);
    state[1] = state[1] + call.momentum * (most - state[1]);
  } else {
    state[0] = least;
    state[1] = most;
  }
  state[2] = state[2] + 1;
  call.scales[row] = scale_of_range(state[0], state[1], call.spans[row], call.power_of_two);
}

QSIM_HOST_DEVICE inline void differentiate_channel(const NormalizationGradient& call,
                                                   std::int64_t o) {
  const auto norm = [&](int row) { return call.norm[row * call.channels + o]; };
  const double gain = norm(0);
  const double mean = norm(2);
  const double inverse = norm(3);
  const double unit = norm(4);
  const auto beta = static_cast<double>(call.sums[2 * o]);
  const double gamma = inverse * unit * (static_cast<double>(call.sums[2 * o + 1]) - mean * beta);
  double slope = 0;
  double constant = 0;
  if (call.of_batch) {
    const auto count = static_cast<double>(call.pixels);
    slope = -gain * gamma * unit * inverse / count;
    constant = -gain * beta / count - slope * mean;
  }
  call.factors[3 * o] = static_cast<float>(gain);
  call.factors[3 * o + 1] = static_cast<float>(slope);
  call.factors[3 * o + 2] = static_cast<float>(constant);
  if (call.gamma != nullptr) call.gamma[o] = static_cast<float>(gamma);
  if (call.beta != nullptr) call.beta[o] = static_cast<float>(beta);
  if (call.bias != nullptr) call.bias[o] = call.of_batch ? 0 : static_cast<float>(gain * beta);
}

}  // namespace qsim::golden::train
