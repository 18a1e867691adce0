// What the kernels of linear layers share: reading x, writing y, and terms that are not finite.
#pragma once

#include <cstdint>

#include "golden/linear/cuda/linear_launch.h"
#include "golden/linear/linear_arithmetic.h"

namespace qsim::golden::cuda {

// A launch's arguments on the device.
struct LinearJob {
  const void* x;
  const std::uint8_t* values;
  const float* scales;
  const std::uint8_t* zero_points;
  const float* bias;
  void* y;
  std::int64_t row_bytes;
  int in_features, out_features, groups, group_elems;
  int bits;
  FloatType x_type, y_type;
  bool constant;
};

inline LinearJob job_of(const DeviceWeights& weights, const LinearCall& call) {
  LinearJob job{};
  job.x = call.x;
  job.values = static_cast<const std::uint8_t*>(weights.values);
  job.scales = weights.scales;
  job.zero_points = weights.zero_points;
  job.bias = weights.bias;
  job.y = call.y;
  job.row_bytes = weights.row_bytes;
  job.in_features = static_cast<int>(weights.in_features);
  job.out_features = static_cast<int>(weights.out_features);
  const std::int64_t elems = weights.group_size == 0 ? weights.in_features : weights.group_size;
  job.group_elems = static_cast<int>(elems);
  job.groups = static_cast<int>((weights.in_features + elems - 1) / elems);
  job.bits = weights.bits;
  job.x_type = call.x_type;
  job.y_type = call.y_type;
  job.constant = weights.constant;
  return job;
}

// FP32 bits of element `index` of x; a NaN stays some NaN.
__device__ inline std::uint32_t x_bits(const LinearJob& job, std::int64_t index) {
  if (job.x_type == FloatType::kFloat32) {
    return __ldg(static_cast<const std::uint32_t*>(job.x) + index);
  }
  const std::uint16_t code = __ldg(static_cast<const std::uint16_t*>(job.x) + index);
  if (job.x_type == FloatType::kBfloat16) return static_cast<std::uint32_t>(code) << 16;
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(code));
  return bits_of(value);
}

// 2^-exponent for -149 <= exponent <= 127.
__device__ inline double steps_of_one(int exponent) {
  return __longlong_as_double(static_cast<long long>(1023 - exponent) << 52);
}

// fixed_point() of a finite number: the product is exact in double precision, and rounded once.
__device__ inline std::int64_t fixed_of(std::uint32_t bits, double steps) {
  return __double2ll_rn(static_cast<double>(float_of(bits)) * steps);
}

__device__ inline int weight_of(const LinearJob& job, std::int64_t channel, int group, int k) {
  const std::uint8_t* row = job.values + channel * job.row_bytes;
  if (job.bits == 8) return static_cast<std::int8_t>(row[k]);
  const int nibble = row[k / 2] >> (k % 2 * 4) & 15;
  return nibble - job.zero_points[channel * job.groups + group];
}

// The rest of the definition, from the sum over the groups: step, bias, type.
__device__ inline void store_result(const LinearJob& job, int row, int channel, float sum,
                                    int exponent) {
  float result = __fmul_rn(sum, power_of_two(exponent));
  if (job.bias != nullptr) result = __fadd_rn(result, __ldg(job.bias + channel));
  const std::uint32_t bits = canonical(result);
  const std::int64_t index = std::int64_t{row} * job.out_features + channel;
  if (job.y_type == FloatType::kFloat32) {
    static_cast<std::uint32_t*>(job.y)[index] = bits;
  } else {
    static_cast<std::uint16_t*>(job.y)[index] = static_cast<std::uint16_t>(
        job.y_type == FloatType::kFloat16 ? encode<kFp16>(bits) : encode<kBf16>(bits));
  }
}

// Of one group: a warp finds the terms that are not finite. All lanes return the same.
__device__ inline NonFiniteSum non_finite_terms(const LinearJob& job, int row, int channel,
                                                int group) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int begin = group * job.group_elems;
  const int end = min(begin + job.group_elems, job.in_features);
  NonFiniteSum sum;
  for (int k = begin + lane; k < end; k += 32) {
    const std::uint32_t bits = x_bits(job, std::int64_t{row} * job.in_features + k);
    if (!is_finite(bits)) sum.add(bits, weight_of(job, channel, group, k));
  }
  sum.nan = __any_sync(0xFFFFFFFFu, sum.nan) != 0;
  sum.plus = __any_sync(0xFFFFFFFFu, sum.plus) != 0;
  sum.minus = __any_sync(0xFFFFFFFFu, sum.minus) != 0;
  return sum;
}

}  // namespace qsim::golden::cuda
