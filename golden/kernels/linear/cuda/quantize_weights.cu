// A team of threads for each group: a warp for a group of up to 1024 weights, a block for a longer
// one. It reads its weights twice: for the range, and for the values.
#include <limits>

#include "core/base/checked_math.h"
#include "core/base/error.h"
#include "golden/device/launch.cuh"
#include "golden/kernels/linear/cuda/quantize_weights.h"

namespace qsim::golden::cuda {
namespace {

constexpr int kBlock = 256;
constexpr int kWarp = 32;
constexpr std::int64_t kMostOfAWarp = 1024;
constexpr std::uint32_t kInfinity = 0x7F800000U;

__device__ inline float weight_at(const WeightsToQuantize& w, std::int64_t row,
                                  std::int64_t column) {
  const std::int64_t at = row * w.row_stride + column * w.column_stride;
  if (w.type == FloatType::kFloat32) return __ldg(static_cast<const float*>(w.floats) + at);
  const std::uint16_t bits = __ldg(static_cast<const std::uint16_t*>(w.floats) + at);
  if (w.type == FloatType::kBfloat16) return __uint_as_float(std::uint32_t{bits} << 16);
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}

// What a group's scale is made of. Magnitudes compare as integers, and those that are not finite
// are the largest.
struct Range {
  std::uint32_t magnitude = 0;
  float low = 0;
  float high = 0;

  __device__ void add(float value) {
    magnitude = max(magnitude, __float_as_uint(value) & 0x7FFFFFFFU);
    low = fminf(low, value);
    high = fmaxf(high, value);
  }
  __device__ void add(const Range& other) {
    magnitude = max(magnitude, other.magnitude);
    low = fminf(low, other.low);
    high = fmaxf(high, other.high);
  }
};

template <int kThreads>
__device__ inline Range reduce(Range range) {
#pragma unroll
  for (int step = kWarp / 2; step > 0; step /= 2) {
    Range other;
    other.magnitude = __shfl_xor_sync(0xFFFFFFFFU, range.magnitude, step);
    other.low = __shfl_xor_sync(0xFFFFFFFFU, range.low, step);
    other.high = __shfl_xor_sync(0xFFFFFFFFU, range.high, step);
    range.add(other);
  }
  if constexpr (kThreads > kWarp) {
    __shared__ Range of_warps[kThreads / kWarp];
    if (threadIdx.x % kWarp == 0) of_warps[threadIdx.x / kWarp] = range;
    __syncthreads();
    for (const Range& other : of_warps) range.add(other);
  }
  return range;
}

__device__ inline float rounded_quotient(float dividend, float divisor, float lo, float hi) {
  return fminf(fmaxf(rintf(__fdiv_rn(dividend, divisor)), lo), hi);
}

// How the weights of a group become levels: quantizer.cpp's steps.
struct GroupRule {
  float scale = 1;    // as it is stored
  float divisor = 0;  // 0: every level is 0
  float lo = 0;
  float hi = 0;
  int zero_point = 0;

  __device__ int level(float weight) const {
    if (divisor == 0) return zero_point;
    return static_cast<int>(rounded_quotient(weight, divisor, lo, hi)) + zero_point;
  }
};

__device__ inline GroupRule rule_of(const WeightsToQuantize& w, const Range& range) {
  GroupRule rule;
  rule.zero_point = w.bits == 4 ? 8 : 0;
  if (range.magnitude >= kInfinity) {
    rule.scale = __uint_as_float(0x7FC00000U);
    return rule;
  }
  const float largest = __uint_as_float(range.magnitude);
  float scale;
  float least = w.bits == 4 ? 1.0F : -127.0F;
  const float most = w.bits == 4 ? 15.0F : 127.0F;
  if (w.bits == 8) {
    scale = __fdiv_rn(largest, 127.0F);
  } else if (w.symmetric) {
    scale = __fdiv_rn(largest, 7.0F);
  } else {
    scale = __fdiv_rn(__fsub_rn(__fmul_rn(range.high, 0.5F), __fmul_rn(range.low, 0.5F)), 7.5F);
    least = 0;
    if (scale > 0) {
      rule.zero_point = static_cast<int>(rounded_quotient(-range.low, scale, 0.0F, 15.0F));
    }
  }
  if (scale == 0) return rule;
  rule.scale = rule.divisor = scale;
  rule.lo = least - static_cast<float>(rule.zero_point);
  rule.hi = most - static_cast<float>(rule.zero_point);
  return rule;
}

template <int kThreads>
__global__ void __launch_bounds__(kBlock)
    quantize_weights(const __grid_constant__ WeightsToQuantize w, std::int64_t groups_of_row,
                     std::int64_t group_elems, std::int64_t groups) {
  begin_kernel();
  const int thread = static_cast<int>(threadIdx.x) % kThreads;
  const std::int64_t group = (blockIdx.x * std::int64_t{kBlock} + threadIdx.x) / kThreads;
  if (group >= groups) return;  // a whole team
  const std::int64_t row = group / groups_of_row;
  const std::int64_t begin = group % groups_of_row * group_elems;
  const std::int64_t end = min(begin + group_elems, w.in_features);
  Range range;
  for (std::int64_t k = begin + thread; k < end; k += kThreads) range.add(weight_at(w, row, k));
  const GroupRule rule = rule_of(w, reduce<kThreads>(range));
  const int flip = w.is_signed ? 8 : 0;
  if (thread == 0) {
    w.scales[group] = rule.scale;
    if (w.zero_points != nullptr) {
      w.zero_points[group] = static_cast<std::uint8_t>(rule.zero_point - flip);
    }
  }
  if (w.bits == 8) {
    auto* to = static_cast<std::int8_t*>(w.values) + row * w.in_features;
    for (std::int64_t k = begin + thread; k < end; k += kThreads) {
      to[k] = static_cast<std::int8_t>(rule.level(weight_at(w, row, k)));
    }
    return;
  }
  // A group begins at a byte: its length is even, but for a row's last one.
  auto* to = static_cast<std::uint8_t*>(w.values) + row * ((w.in_features + 1) / 2);
  for (std::int64_t k = begin + 2 * thread; k < end; k += 2 * kThreads) {
    int byte = rule.level(weight_at(w, row, k)) ^ flip;
    if (k + 1 < end) byte |= (rule.level(weight_at(w, row, k + 1)) ^ flip) << 4;
    to[k / 2] = static_cast<std::uint8_t>(byte);
  }
}

}  // namespace

void enqueue_quantize(const WeightsToQuantize& w, void* stream) {
  check_sizes(w.out_features, w.in_features, w.group_size, w.bits);
  const std::int64_t elems = w.group_size == 0 ? w.in_features : w.group_size;
  const std::int64_t of_row = ceil_div(w.in_features, elems);
  const std::int64_t groups = checked_mul(w.out_features, of_row);
  if (groups > std::numeric_limits<std::int32_t>::max()) {
    throw_bad_input("linear: " + std::to_string(groups) +
                    " groups are too many for a quantizer on a GPU; at most 2147483647");
  }
  const auto cuda_stream = static_cast<cudaStream_t>(stream);
  if (elems <= kMostOfAWarp) {
    launch_kernel("launching a quantizer", quantize_weights<kWarp>,
                  ceil_div(groups, kBlock / kWarp), kBlock, 0, cuda_stream, w, of_row, elems,
                  groups);
  } else {
    launch_kernel("launching a quantizer", quantize_weights<kBlock>, groups, kBlock, 0, cuda_stream,
                  w, of_row, elems, groups);
  }
}

}  // namespace qsim::golden::cuda
