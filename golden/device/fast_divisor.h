// Division by a number that is known before the kernel starts.
#pragma once

#include <cstdint>

#include "core/numerics/requantize.h"

namespace qsim::golden::cuda {

// n / divisor for 0 <= n < 2^31, 1 <= divisor < 2^31, as a multiplication (Granlund and Montgomery,
// "Division by Invariant Integers using Multiplication", 1994, theorem 4.2 with N = 31).
class FastDivisor {
 public:
  constexpr FastDivisor() = default;
  constexpr explicit FastDivisor(std::int32_t divisor) : divisor_(divisor) {
    while ((std::int64_t{1} << log_) < divisor) ++log_;
    const auto wide = static_cast<std::uint64_t>(divisor);
    multiplier_ = static_cast<std::uint32_t>(((std::uint64_t{1} << (31 + log_)) + wide - 1) / wide);
  }

  QSIM_HOST_DEVICE constexpr std::int32_t divide(std::int32_t n) const {
    const std::uint32_t twice = static_cast<std::uint32_t>(n) << 1;
    const std::uint64_t product = static_cast<std::uint64_t>(twice) * multiplier_;
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(product >> 32) >> log_);
  }
  QSIM_HOST_DEVICE constexpr std::int32_t divisor() const { return divisor_; }

 private:
  std::int32_t divisor_ = 1;
  std::uint32_t multiplier_ = std::uint32_t{1} << 31;
  int log_ = 0;  // of the next power of two
};

static_assert(FastDivisor(1).divide(INT32_MAX) == INT32_MAX);
static_assert(FastDivisor(3).divide(INT32_MAX) == INT32_MAX / 3);
static_assert(FastDivisor(7).divide(48) == 6 && FastDivisor(7).divide(49) == 7);
static_assert(FastDivisor(784).divide(784 * 2739137 - 1) == 2739136);
static_assert(FastDivisor(INT32_MAX).divide(INT32_MAX - 1) == 0);

}  // namespace qsim::golden::cuda
