// Layers that compute each value by itself, or only move it.
#include "core/network/graph.h"
#include "golden/graph/real/cuda/kernels/float_arithmetic.cuh"

namespace qsim::golden::cuda {
namespace {

using Kind = Activation::Kind;

__device__ inline float clamped(float x, float lo, float hi) {
  const float above = x < lo ? lo : x;
  return hi < above ? hi : above;
}

__device__ inline float hard_sigmoid(float x, float alpha, float beta) {
  return clamped(__fadd_rn(__fmul_rn(alpha, x), beta), 0.0F, 1.0F);
}

template <int kCount>
__device__ inline float polynomial(float square, const float (&constants)[kCount]) {
  float value = constants[0];
#pragma unroll
  for (int i = 1; i < kCount; ++i) value = __fmaf_rn(square, value, constants[i]);
  return value;
}

__device__ inline float sigmoid(const ActivationFormula& a, float x) {
  const float v = clamped(x, -a.bound, a.bound);
  const float square = __fmul_rn(v, v);
  const float numerator = __fmul_rn(v, polynomial(square, a.odd));
  const float quotient = __fdiv_rn(numerator, polynomial(square, a.even));
  return clamped(__fadd_rn(quotient, 0.5F), 0.0F, 1.0F);
}

// The formulas of core/network/float_rules.cpp.
template <Kind kind>
__device__ inline float activated(const ActivationFormula& a, float x) {
  if constexpr (kind == Kind::kRelu) return x < 0.0F ? 0.0F : x;
  if constexpr (kind == Kind::kClip) return clamped(x, a.lo, a.hi);
  if constexpr (kind == Kind::kLeakyRelu) return x >= 0.0F ? x : __fmul_rn(a.alpha, x);
  if constexpr (kind == Kind::kSigmoid) return sigmoid(a, x);
  if constexpr (kind == Kind::kHardSigmoid) return hard_sigmoid(x, a.alpha, a.beta);
  return __fmul_rn(x, hard_sigmoid(x, 1.0F / 6.0F, 0.5F));
}

template <Kind kind>
__global__ void __launch_bounds__(kThreads)
    activation_kernel(const __grid_constant__ ActivationFormula a, const float* x, float* y,
                      std::int64_t count) {
  begin_kernel();
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    y[i] = canonical(activated<kind>(a, x[i]));
  }
}

__global__ void __launch_bounds__(kThreads)
    prelu_kernel(const float* slopes, std::int64_t slope_count, const float* x, float* y,
                 std::int64_t count) {
  begin_kernel();
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    const float v = x[i];
    y[i] = canonical(v >= 0.0F ? v : __fmul_rn(slopes[i % slope_count], v));
  }
}

__global__ void __launch_bounds__(kThreads)
    add_kernel(const float* a, const float* b, float* y, std::int64_t count) {
  begin_kernel();
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    y[i] = canonical(__fadd_rn(a[i], b[i]));
  }
}

__global__ void __launch_bounds__(kThreads)
    concat_part_kernel(const float* x, float* y, std::int64_t pixels, std::int64_t channels,
                       std::int64_t first, std::int64_t to_channels) {
  begin_kernel();
  for (std::int64_t i = grid_thread(); i < pixels * channels; i += grid_threads()) {
    const std::int64_t pixel = i / channels;
    y[pixel * to_channels + first + (i - pixel * channels)] = x[i];
  }
}

__global__ void __launch_bounds__(kThreads)
    to_chw_kernel(const float* x, float* y, const __grid_constant__ ImageShape in) {
  begin_kernel();
  const std::int64_t places = in.height * in.width;
  const std::int64_t count = in.batch * places * in.channels;
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    const std::int64_t place = i % places;
    const std::int64_t c = i / places % in.channels;
    const std::int64_t n = i / places / in.channels;
    y[i] = x[(n * places + place) * in.channels + c];
  }
}

using ActivationKernel = void (*)(ActivationFormula, const float*, float*, std::int64_t);

ActivationKernel kernel_of(Kind kind) {
  switch (kind) {
    case Kind::kRelu:
      return activation_kernel<Kind::kRelu>;
    case Kind::kClip:
      return activation_kernel<Kind::kClip>;
    case Kind::kLeakyRelu:
      return activation_kernel<Kind::kLeakyRelu>;
    case Kind::kSigmoid:
      return activation_kernel<Kind::kSigmoid>;
    case Kind::kHardSigmoid:
      return activation_kernel<Kind::kHardSigmoid>;
    case Kind::kHardSwish:
      break;
  }
  return activation_kernel<Kind::kHardSwish>;
}

}  // namespace

void launch_activation(const ActivationFormula& activation, const float* x, float* y,
                       std::int64_t count, cudaStream_t stream) {
  launch_kernel("launching activation", kernel_of(static_cast<Kind>(activation.kind)),
                grid_stride_blocks(count, kThreads), kThreads, 0, stream, activation, x, y, count);
}

void launch_prelu(const float* slopes, std::int64_t slope_count, const float* x, float* y,
                  std::int64_t count, cudaStream_t stream) {
  launch_kernel("launching prelu", prelu_kernel, grid_stride_blocks(count, kThreads), kThreads, 0,
                stream, slopes, slope_count, x, y, count);
}

void launch_add(const float* a, const float* b, float* y, std::int64_t count, cudaStream_t stream) {
  launch_kernel("launching add", add_kernel, grid_stride_blocks(count, kThreads), kThreads, 0,
                stream, a, b, y, count);
}

void launch_concat_part(const float* x, float* y, std::int64_t pixels, std::int64_t channels,
                        std::int64_t first, std::int64_t to_channels, cudaStream_t stream) {
  launch_kernel("launching concat", concat_part_kernel,
                grid_stride_blocks(pixels * channels, kThreads), kThreads, 0, stream, x, y, pixels,
                channels, first, to_channels);
}

void launch_to_chw(const float* x, float* y, const ImageShape& in, cudaStream_t stream) {
  launch_kernel("launching flatten", to_chw_kernel,
                grid_stride_blocks(in.batch * in.height * in.width * in.channels, kThreads),
                kThreads, 0, stream, x, y, in);
}

}  // namespace qsim::golden::cuda
