// What the kernels of linear layers share: reading x, writing y, and terms that are not finite.
#pragma once

#include <cstdint>

#include "golden/kernels/linear/cuda/linear_launch.h"
#include "golden/kernels/linear/linear_arithmetic.h"

namespace qsim::golden::cuda {

// A launch's arguments on the device.
struct LinearJob {
  const void* x;
  const std::uint8_t* values;
  const float* scales;
  const std::uint8_t* zero_points;  // or null
  const float* bias;
  void* y;
  std::int64_t row_bytes;
  int in_features, out_features, groups, group_elems;
  int bits;
  // For signed 4 bits, all bits 3: exclusive or with them adds 8, which makes them unsigned.
  std::uint32_t flip;
  FloatType x_type, y_type;
  bool constant;
  bool words_of_zero_points;  // each channel's begin at a multiple of four bytes
  bool x_is_aligned;          // eight elements from a multiple of 8 on are 16 or 32 aligned bytes
};

inline LinearJob job_of(const DeviceWeights& weights, const LinearCall& call) {
  LinearJob job{};
  job.x = call.x;
  job.values = static_cast<const std::uint8_t*>(weights.values);
  job.scales = weights.scales;
  job.zero_points = static_cast<const std::uint8_t*>(weights.zero_points);
  job.bias = weights.bias;
  job.y = call.y;
  job.row_bytes = weights.row_bytes;
  job.in_features = static_cast<int>(weights.in_features);
  job.out_features = static_cast<int>(weights.out_features);
  const std::int64_t elems = weights.group_size == 0 ? weights.in_features : weights.group_size;
  job.group_elems = static_cast<int>(elems);
  job.groups = static_cast<int>((weights.in_features + elems - 1) / elems);
  job.bits = weights.bits;
  job.flip = weights.is_signed ? 0x88888888u : 0;
  job.x_type = call.x_type;
  job.y_type = call.y_type;
  job.constant = weights.constant;
  job.words_of_zero_points =
      reinterpret_cast<std::uintptr_t>(weights.zero_points) % 4 == 0 && job.groups % 4 == 0;
  job.x_is_aligned =
      reinterpret_cast<std::uintptr_t>(call.x) % 16 == 0 && weights.in_features % 8 == 0;
  return job;
}

// The FP32 bits of an FP16 number: exact.
__device__ inline std::uint32_t widen_half(std::uint16_t code) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(code));
  return bits_of(value);
}

// FP32 bits of element `index` of x; a NaN stays some NaN.
__device__ inline std::uint32_t x_bits(const LinearJob& job, std::int64_t index) {
  if (job.x_type == FloatType::kFloat32) {
    return static_cast<const std::uint32_t*>(job.x)[index];
  }
  const std::uint16_t code = static_cast<const std::uint16_t*>(job.x)[index];
  if (job.x_type == FloatType::kBfloat16) return static_cast<std::uint32_t>(code) << 16;
  return widen_half(code);
}

// 2^-exponent for -149 <= exponent <= 127.
__device__ inline double steps_of_one(int exponent) {
  return __longlong_as_double(static_cast<long long>(1023 - exponent) << 52);
}

// fixed_point() of a finite number: the product is exact in double precision, and rounded once.
__device__ inline std::int64_t fixed_of(std::uint32_t bits, double steps) {
  return __double2ll_rn(static_cast<double>(float_of(bits)) * steps);
}

// A zero_point of unsigned 4 bits, from its byte, of which the low four bits count.
__device__ inline int stored_zero_point(const LinearJob& job, std::uint32_t byte) {
  return job.zero_points == nullptr ? 8 : static_cast<int>((byte ^ job.flip) & 15);
}
__device__ inline int zero_point_of(const LinearJob& job, std::int64_t index) {
  return stored_zero_point(job, job.zero_points == nullptr ? 0 : __ldg(job.zero_points + index));
}

__device__ inline int weight_of(const LinearJob& job, std::int64_t channel, int group, int k) {
  const std::uint8_t* row = job.values + channel * job.row_bytes;
  if (job.bits == 8) return static_cast<std::int8_t>(row[k]);
  const int nibble = (row[k / 2] >> (k % 2 * 4) & 15) ^ static_cast<int>(job.flip & 8);
  return nibble - zero_point_of(job, channel * job.groups + group);
}

// 0 without a bias.
__device__ inline float bias_of(const LinearJob& job, int channel) {
  return job.bias == nullptr ? 0 : __ldg(job.bias + channel);
}

// canonical() in 16 bits, to nearest, ties to even. The instructions have another NaN.
__device__ inline std::uint16_t narrowed(FloatType type, std::uint32_t canonical_bits) {
  std::uint16_t code = 0;
  if (type == FloatType::kFloat16) {
    if (canonical_bits == kFp32Nan) return 0x7E00;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(code) : "f"(float_of(canonical_bits)));
  } else {
    if (canonical_bits == kFp32Nan) return 0x7FC0;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(code) : "f"(float_of(canonical_bits)));
  }
  return code;
}

// The rest of the definition, from the sum over the groups: step, bias, type.
__device__ inline void store_result(const LinearJob& job, int row, int channel, float sum,
                                    int exponent, float bias) {
  float result = __fmul_rn(sum, power_of_two(exponent));
  if (job.bias != nullptr) result = __fadd_rn(result, bias);
  const std::uint32_t bits = canonical(result);
  const std::int64_t index = std::int64_t{row} * job.out_features + channel;
  if (job.y_type == FloatType::kFloat32) {
    static_cast<std::uint32_t*>(job.y)[index] = bits;
  } else {
    static_cast<std::uint16_t*>(job.y)[index] = narrowed(job.y_type, bits);
  }
}

// A warp finds the terms of one group that are not finite. All lanes return the same.
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

__device__ inline std::int64_t sum_of_lanes(std::int64_t value) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xFFFFFFFFu, value, step);
  return value;
}

// x in steps = part.high * 2^24 + part.low, so that both sums fit 48 bits.
__device__ inline float plain_group_sum(const LinearJob& job, int row, int channel, int group,
                                        double steps) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int begin = group * job.group_elems;
  const int end = min(begin + job.group_elems, job.in_features);
  WideSum sum{0, 0};
  bool finite = true;
  for (int k = begin + lane; k < end; k += 32) {
    const std::uint32_t bits = x_bits(job, std::int64_t{row} * job.in_features + k);
    if (!is_finite(bits)) {
      finite = false;
      continue;
    }
    const std::int64_t fixed = fixed_of(bits, steps);
    const int weight = weight_of(job, channel, group, k);
    sum.high += (fixed >> 24) * weight;
    sum.low += (fixed & 0xFFFFFF) * weight;
  }
  if (!__all_sync(0xFFFFFFFFu, finite)) return non_finite_terms(job, row, channel, group).value();
  return rounded({sum_of_lanes(sum.high), sum_of_lanes(sum.low)});
}

// The sum over all groups of one channel by a warp; all lanes return the same.
__device__ inline float plain_sum(const LinearJob& job, int row, int channel, double steps) {
  float sum = 0;
  for (int group = 0; group < job.groups; ++group) {
    const float scale = __ldg(job.scales + std::int64_t{channel} * job.groups + group);
    sum = __fmaf_rn(plain_group_sum(job, row, channel, group, steps), scale, sum);
  }
  return sum;
}

}  // namespace qsim::golden::cuda
