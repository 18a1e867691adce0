#include "golden/cuda/output_stage.h"

#include <algorithm>
#include <numeric>

#include "golden/common/channel_sums.h"

namespace qsim::golden::cuda {
namespace {

std::size_t depth_of(const ConvTask& task) {
  return static_cast<std::size_t>(task.window.kernel_h * task.window.kernel_w *
                                  task.input.shape.channels);
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
  const std::size_t depth = depth_of(task);
  for (std::int64_t co = 0; co < task.ofmap.shape.channels; ++co) {
    const ChannelSums sums =
        sum_weights(task.weights + co * static_cast<std::int64_t>(depth), depth);
    if (!psums_stay_narrow(sums, task.bias[co], task.requantization.shift(co))) return false;
  }
  return true;
}

bool is_plain(const ConvTask& task) {
  const Requantization& rq = task.requantization;
  const bool one_shift = std::all_of(rq.shifts.begin(), rq.shifts.end(),
                                     [&](int shift) { return shift == rq.shifts[0]; });
  return one_shift && rq.shifts[0] > 0 && rq.rounding == RoundingMode::kHalfEven &&
         task.ofmap.zero_point == 0 && rq.lo == task.ofmap.min() && rq.hi == task.ofmap.max() &&
         is_narrow(task);
}

OutputStage::OutputStage(const ConvTask& task) : OutputStage(task, every_channel(task)) {}

OutputStage::OutputStage(const ConvTask& task, const std::vector<std::int64_t>& order) {
  const std::size_t depth = depth_of(task);
  params_.narrow = is_narrow(task);
  std::vector<std::int32_t> fold(order.size(), 0);
  std::vector<std::int32_t> bias(order.size(), 0);
  std::vector<std::int32_t> shift(order.size(), 0);
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
    shift[i] = task.requantization.shift(co);
  }
  fold_ = upload(fold);
  bias_ = upload(bias);
  shift_ = upload(shift);
  params_.fold = fold_.as<std::int32_t>();
  params_.bias = bias_.as<std::int32_t>();
  params_.shift = shift_.as<std::int32_t>();
  params_.zero_point = task.ofmap.zero_point;
  params_.lo = task.requantization.lo;
  params_.hi = task.requantization.hi;
  params_.rounding = task.requantization.rounding;
}

}  // namespace qsim::golden::cuda
