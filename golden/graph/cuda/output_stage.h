// How psums become an ofmap on the device: per-channel constants prepared on the host, and the
// arguments that a kernel gets. kernels/finish.cuh applies them.
#pragma once

#include <vector>

#include "core/numerics/adder.h"
#include "golden/device/device_buffer.h"
#include "golden/graph/cuda/tasks.h"

namespace qsim::golden::cuda {

// 1.5 * 2^23: floats around it are the integers, so that adding it rounds to the nearest one, ties
// to even (it is even itself), which the low bits of the sum then hold.
inline constexpr float kIntegerFloats = 12582912.0F;

// With acc = the sum of raw activation bytes (in their own dtype) times weights, positions outside
// the picture counting as the zero point: psum = acc + fold (mod 2^32), t = psum + bias.
struct OutputParams {
  // [channels]; in a narrow stage fold holds -zero_point * sum(weights) + bias, and bias is 0.
  const std::int32_t* fold = nullptr;
  const std::int32_t* bias = nullptr;
  const std::int32_t* shift = nullptr;
  const float* scale = nullptr;  // real_scale() of a channel's requantizer; else shifts count
  std::int32_t zero_point = 0;
  std::int32_t lo = 0;
  std::int32_t hi = 0;
  RoundingMode rounding = RoundingMode::kHalfEven;  // of shifts
  RequantizerRounding scaled_rounding = RequantizerRounding::kFloat32;
  // What is left of lo..hi before the zero point is added, and zero_point - kIntegerFloats.
  float least = 0;
  float most = 0;
  float from_integer_floats = 0;
  bool narrow = false;  // 32-bit arithmetic suffices (golden/common/channel_sums.h)
};

// core/numerics/adder.h's kFloat32 as float32 numbers: the sum of two levels is fma(first,
// first_ratio, fma(second, second_ratio, fixed)), limited to lo..hi.
struct AdderParams {
  float first_ratio = 0;
  float second_ratio = 0;
  float fixed = 0;
  float lo = 0;  // within the sum's dtype, as is hi
  float hi = 0;
};

// The parameters of an adder that rounds as kFloat32.
AdderParams adder_params(const Adder& adder, std::int32_t lo, std::int32_t hi);

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
  DeviceBuffer scale_;
  OutputParams params_;
};

// Whether every channel's sums stay narrow.
bool is_narrow(const ConvTask& task);

// What the epilogues of kernels are made for. Two kinds are known at compile time there, so that a
// value costs about a dozen instructions: narrow sums with half_even shifts, and narrow sums with
// requantizers that round as float32.
enum class FinishKind : std::uint8_t { kGeneral, kShift, kScale };
FinishKind finish_kind(const OutputParams& params);
FinishKind finish_kind(const ConvTask& task);

// Plain requantization, of which the fast kernels have a variant: narrow, half_even, one shift
// above 0 for all channels, zero point 0, and a clamp to the whole range of the ofmap's dtype,
// which a saturating pack (pack4 in kernels/finish.cuh) does by itself.
bool is_plain(const ConvTask& task);

}  // namespace qsim::golden::cuda
