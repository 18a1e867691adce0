#include "golden/graph/cuda/output_stage.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/numerics/adder.h"
#include "golden/common/channel_sums.h"

namespace qsim::golden::cuda {
namespace {

// A shift is part of what must stay narrow.
int shift_of(const Requantization& requantization, std::int64_t channel) {
  return requantization.is_dyadic() ? 0 : requantization.shift(channel);
}

// a * b mod 2^32
std::int32_t wrapping_mul(std::int64_t a, std::int64_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) * static_cast<std::uint32_t>(b));
}

std::vector<std::int64_t> every_channel(const ConvTask& task) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(task.ofmap.shape.channels));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

}  // namespace

bool is_narrow(const ConvTask& task) {
  const auto depth = static_cast<std::size_t>(task.depth());
  for (std::int64_t co = 0; co < task.ofmap.shape.channels; ++co) {
    const ChannelSums sums =
        sum_weights(task.weights + co * static_cast<std::int64_t>(depth), depth);
    if (!psums_stay_narrow(sums, task.bias[co], shift_of(task.requantization, co))) return false;
  }
  return true;
}

bool is_plain(const ConvTask& task) {
  const Requantization& rq = task.requantization;
  if (rq.is_dyadic()) return false;
  const bool one_shift = std::all_of(rq.shifts.begin(), rq.shifts.end(),
                                     [&](int shift) { return shift == rq.shifts[0]; });
  return one_shift && rq.shifts[0] > 0 && rq.rounding == RoundingMode::kHalfEven &&
         task.ofmap.zero_point == 0 && rq.lo == task.ofmap.min() && rq.hi == task.ofmap.max() &&
         is_narrow(task);
}

AdderParams adder_params(const Adder& adder, std::int32_t lo, std::int32_t hi) {
  const auto real = [](std::int64_t units) {
    return static_cast<float>(std::ldexp(static_cast<double>(units), -kAdderFractionBits));
  };
  return {real(adder.a_ratio), real(adder.b_ratio), real(adder.fixed), static_cast<float>(lo),
          static_cast<float>(hi)};
}

FinishKind finish_kind(const OutputParams& params) {
  if (!params.narrow) return FinishKind::kGeneral;
  if (params.scale != nullptr) {
    const bool is_float = params.scaled_rounding == RequantizerRounding::kFloat32;
    return is_float ? FinishKind::kScale : FinishKind::kGeneral;
  }
  return params.rounding == RoundingMode::kHalfEven ? FinishKind::kShift : FinishKind::kGeneral;
}

FinishKind finish_kind(const ConvTask& task) {
  const Requantization& rq = task.requantization;
  const float scale = 1;
  OutputParams params;
  params.narrow = is_narrow(task);
  params.rounding = rq.rounding;
  if (rq.is_dyadic()) {
    params.scale = &scale;
    params.scaled_rounding = rq.requantizers[0].rounding;
  }
  return finish_kind(params);
}

OutputStage::OutputStage(const ConvTask& task) : OutputStage(task, every_channel(task)) {}

OutputStage::OutputStage(const ConvTask& task, const std::vector<std::int64_t>& order) {
  const auto depth = static_cast<std::size_t>(task.depth());
  params_.narrow = is_narrow(task);
  std::vector<std::int32_t> fold(order.size(), 0);
  std::vector<std::int32_t> bias(order.size(), 0);
  std::vector<std::int32_t> shift(order.size(), 0);
  std::vector<float> scale(order.size(), 1.0F);
  const bool is_dyadic = task.requantization.is_dyadic();
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::int64_t co = order[i];
    if (co < 0) continue;
    const ChannelSums sums =
        sum_weights(task.weights + co * static_cast<std::int64_t>(depth), depth);
    fold[i] = wrapping_mul(-task.input.zero_point, sums.sum);
    if (params_.narrow) {
      fold[i] += task.bias[co];
    } else {
      bias[i] = task.bias[co];
    }
    shift[i] = shift_of(task.requantization, co);
    if (is_dyadic) scale[i] = real_scale(task.requantization.requantizer(co));
  }
  fold_ = upload(fold);
  bias_ = upload(bias);
  shift_ = upload(shift);
  params_.fold = fold_.as<std::int32_t>();
  params_.bias = bias_.as<std::int32_t>();
  params_.shift = shift_.as<std::int32_t>();
  if (is_dyadic) {
    scale_ = upload(scale);
    params_.scale = scale_.as<float>();
    params_.scaled_rounding = task.requantization.requantizers[0].rounding;
  }
  params_.zero_point = task.ofmap.zero_point;
  params_.lo = task.requantization.lo;
  params_.hi = task.requantization.hi;
  params_.least = static_cast<float>(params_.lo - params_.zero_point);
  params_.most = static_cast<float>(params_.hi - params_.zero_point);
  params_.from_integer_floats = static_cast<float>(params_.zero_point) - kIntegerFloats;
  params_.rounding = task.requantization.rounding;
}

}  // namespace qsim::golden::cuda
