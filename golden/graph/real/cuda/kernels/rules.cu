// The rules of fake quantization: a value a thread. A dynamic rule first finds its range, a block a
// picture.
#include "golden/graph/real/cuda/kernels/float_arithmetic.cuh"
#include "golden/graph/real/rule_arithmetic.h"

namespace qsim::golden::cuda {
namespace {

constexpr float kLargest = 3.40282347e+38F;

// q - zero_point. A number within 2^22 plus kRounder is rounded to an integer, half to even, and
// what rounds to 0 becomes +0.
__device__ inline float level_around_zero(const LevelRule& rule, float x) {
  constexpr float kRounder = 12582912.0F;  // 1.5 * 2^23
  const float quotient = __fdiv_rn(x, rule.scale);
  const float number = quotient == quotient ? quotient : 0.0F;
  const float above = number < rule.lo ? rule.lo : number;
  const float level = above > rule.hi ? rule.hi : above;
  return __fsub_rn(__fadd_rn(level, kRounder), kRounder);
}

template <bool kScaled>
__global__ void __launch_bounds__(kThreads)
    levels_kernel(const float* from, float* to, std::int64_t count, const LevelRule* rules,
                  std::int64_t per_rule) {
  begin_kernel();
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    const LevelRule rule = rules[i / per_rule];
    const float level = level_around_zero(rule, from[i]);
    to[i] = kScaled ? __fmul_rn(level, rule.scale) : level;
  }
}

// One kernel for all formats: nvcc takes no FloatFormat as the parameter of a kernel.
__device__ inline float nearest_of(FloatRule::Format format, float x) {
  switch (format) {
    case FloatRule::Format::kE4m3:
      return nearest<kFp8E4m3>(x);
    case FloatRule::Format::kE5m2:
      return nearest<kFp8E5m2>(x);
    case FloatRule::Format::kBfloat16:
      return nearest<kBf16>(x);
    case FloatRule::Format::kFloat16:
      return nearest<kFp16>(x);
    case FloatRule::Format::kTensorFloat32:
      break;
  }
  return nearest<kTf32>(x);
}

__global__ void __launch_bounds__(kThreads)
    float_rule_kernel(FloatRule::Format format, float scale, float* values, std::int64_t count) {
  begin_kernel();
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    values[i] = canonical(__fmul_rn(nearest_of(format, __fdiv_rn(values[i], scale)), scale));
  }
}

__device__ inline float log2_ruled(float scale, int lo, int hi, float x) {
  const float quotient = __fdiv_rn(fabsf(x), scale);
  if (quotient != quotient || quotient == 0.0F) return 0.0F;
  const bool is_infinite = __float_as_uint(quotient) == kFp32Infinity;
  const int e = is_infinite ? hi : min(nearest_log2(quotient), hi);
  if (e < lo) return 0.0F;
  const float power = __uint_as_float(static_cast<std::uint32_t>(e + 127) << 23);
  return copysignf(__fmul_rn(scale, power), x);
}

__global__ void __launch_bounds__(kThreads)
    log2_rule_kernel(float scale, int lo, int hi, float* values, std::int64_t count) {
  begin_kernel();
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    values[i] = log2_ruled(scale, lo, hi, values[i]);
  }
}

__device__ inline float2 widened(float2 a, float2 b) {
  return make_float2(b.x < a.x ? b.x : a.x, b.y > a.y ? b.y : a.y);
}

// The range of all threads of a block.
__device__ inline float2 block_range(float2 range) {
  __shared__ float2 ranges[kThreads];
  ranges[threadIdx.x] = range;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (static_cast<int>(threadIdx.x) >= half) continue;
    ranges[threadIdx.x] = widened(ranges[threadIdx.x], ranges[threadIdx.x + half]);
  }
  __syncthreads();
  return ranges[0];
}

__global__ void __launch_bounds__(kThreads)
    ranges_kernel(const float* values, std::int64_t pictures, std::int64_t elems, float2* ranges) {
  begin_kernel();
  for (std::int64_t n = blockIdx.x; n < pictures; n += gridDim.x) {
    float2 range = make_float2(0, 0);
    for (std::int64_t i = threadIdx.x; i < elems; i += kThreads) {
      const float x = values[n * elems + i];
      if (fabsf(x) <= kLargest) range = widened(range, make_float2(x, x));
    }
    const float2 all = block_range(range);
    if (threadIdx.x == 0) ranges[n] = all;
    __syncthreads();
  }
}

// uniform_rule() of golden/graph/real/rule_arithmetic.cpp.
__device__ inline LevelRule rule_of(float2 range, int bits, bool is_symmetric) {
  if (is_symmetric) {
    const auto hi = static_cast<float>((1 << (bits - 1)) - 1);
    const float most = -range.x < range.y ? range.y : -range.x;
    const float scale = __fdiv_rn(most, hi);
    return {scale > 0 ? scale : 1.0F, -hi, hi};
  }
  const auto hi = static_cast<float>((1 << bits) - 1);
  const float difference = __fsub_rn(range.y, range.x);
  const float extent = kLargest < difference ? kLargest : difference;
  const float quotient = __fdiv_rn(extent, hi);
  const float scale = quotient > 0 ? quotient : 1.0F;
  const float zero = __fdiv_rn(-range.x, scale);
  const float rounded = rintf(zero < 0.0F ? 0.0F : hi < zero ? hi : zero);
  return {scale, -rounded, hi - rounded};
}

__global__ void __launch_bounds__(kThreads)
    rules_kernel(const float2* ranges, std::int64_t pictures, int bits, bool is_symmetric,
                 LevelRule* rules) {
  begin_kernel();
  for (std::int64_t n = grid_thread(); n < pictures; n += grid_threads()) {
    rules[n] = rule_of(ranges[n], bits, is_symmetric);
  }
}

// The one rule of a batch.
__global__ void __launch_bounds__(kThreads)
    batch_rule_kernel(const float2* ranges, std::int64_t pictures, int bits, bool is_symmetric,
                      LevelRule* rules) {
  begin_kernel();
  float2 range = make_float2(0, 0);
  for (std::int64_t n = threadIdx.x; n < pictures; n += kThreads) range = widened(range, ranges[n]);
  const float2 all = block_range(range);
  if (threadIdx.x == 0) rules[0] = rule_of(all, bits, is_symmetric);
}

}  // namespace

void launch_uniform_rule(const float* from, float* to, std::int64_t count, const LevelRule* rules,
                         std::int64_t per_rule, cudaStream_t stream) {
  launch_kernel("launching a uniform rule", levels_kernel<true>,
                grid_stride_blocks(count, kThreads), kThreads, 0, stream, from, to, count, rules,
                per_rule);
}

void launch_levels(const float* from, float* to, std::int64_t count, const LevelRule* rules,
                   std::int64_t per_rule, cudaStream_t stream) {
  launch_kernel("launching levels", levels_kernel<false>, grid_stride_blocks(count, kThreads),
                kThreads, 0, stream, from, to, count, rules, per_rule);
}

void launch_float_rule(const FloatRule& rule, float* values, std::int64_t count,
                       cudaStream_t stream) {
  launch_kernel("launching a float rule", float_rule_kernel, grid_stride_blocks(count, kThreads),
                kThreads, 0, stream, rule.format, rule.scale, values, count);
}

void launch_log2_rule(const Log2Rule& rule, float* values, std::int64_t count,
                      cudaStream_t stream) {
  launch_kernel("launching a log2 rule", log2_rule_kernel, grid_stride_blocks(count, kThreads),
                kThreads, 0, stream, rule.scale, static_cast<int>(rule.lo),
                static_cast<int>(rule.hi), values, count);
}

void launch_dynamic_rules(const DynamicRule& rule, const float* values, std::int64_t pictures,
                          std::int64_t elems, float2* ranges, LevelRule* rules,
                          cudaStream_t stream) {
  launch_kernel("launching ranges", ranges_kernel, grid_stride_blocks(pictures, 1), kThreads, 0,
                stream, values, pictures, elems, ranges);
  if (rule.per_picture) {
    launch_kernel("launching rules", rules_kernel, grid_stride_blocks(pictures, kThreads), kThreads,
                  0, stream, ranges, pictures, rule.bits, rule.symmetric, rules);
    return;
  }
  launch_kernel("launching the rule of a batch", batch_rule_kernel, 1, kThreads, 0, stream, ranges,
                pictures, rule.bits, rule.symmetric, rules);
}

}  // namespace qsim::golden::cuda
