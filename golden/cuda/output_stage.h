// How psums become an ofmap on the device: per-channel constants prepared on the host, and the
// arguments that a kernel gets. kernels/finish.cuh applies them.
#pragma once

#include <vector>

#include "golden/cuda/device_buffer.h"
#include "golden/cuda/tasks.h"

namespace qsim::golden::cuda {

// With acc = the sum of raw activation bytes (in their own dtype) times weights, positions outside
// the picture counting as the zero point: psum = acc + fold (mod 2^32), t = psum + bias.
struct OutputParams {
  // [channels]; in a narrow stage fold holds -zero_point * sum(weights) + bias, and bias is 0.
  const std::int32_t* fold = nullptr;
  const std::int32_t* bias = nullptr;
  const std::int32_t* shift = nullptr;
  std::int32_t zero_point = 0;
  std::int32_t lo = 0;
  std::int32_t hi = 0;
  RoundingMode rounding = RoundingMode::kHalfEven;
  bool narrow = false;  // 32-bit arithmetic suffices (golden/common/channel_sums.h)
};

class OutputStage {
 public:
  OutputStage() = default;
  // `order[i]` is the output channel of the kernel's column i, -1 for none (its entries are 0): a
  // kernel may permute channels, and pad their number.
  OutputStage(const ConvTask& task, const std::vector<std::int64_t>& order);
  // Columns are channels.
  explicit OutputStage(const ConvTask& task);

  const OutputParams& params() const { return params_; }

 private:
  DeviceBuffer fold_;
  DeviceBuffer bias_;
  DeviceBuffer shift_;
  OutputParams params_;
};

// Whether every channel's sums stay narrow.
bool is_narrow(const ConvTask& task);

// Plain requantization, of which the fast kernels have a variant: narrow, half_even, one shift
// above 0 for all channels, zero point 0, and a clamp to the whole range of the ofmap's dtype,
// which a saturating pack (pack4 in kernels/finish.cuh) does by itself.
bool is_plain(const ConvTask& task);

}  // namespace qsim::golden::cuda
