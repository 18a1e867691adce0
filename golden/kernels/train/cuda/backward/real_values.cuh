// Real numbers of tensors in any strides, bits of `passes`, and bfloat16, for the gradients.
#pragma once

#include <cstdint>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "core/base/error.h"
#include "golden/kernels/train/train_calls.h"

namespace qsim::golden::train::cuda {

// A RealTensor as kernels take it.
struct RealView {
  void* data;
  std::int64_t stride_b, stride_h, stride_w, stride_c;
  RealType type;
};

inline RealView view_of(const RealTensor& x) {
  return {x.data, x.strides[0], x.strides[1], x.strides[2], x.strides[3], x.type};
}

inline int bytes_of(RealType type) { return type == RealType::kFloat32 ? 4 : 2; }

// Whether vectors of `bytes` along an axis can be read: the other strides and the address are
// multiples. Strides of axes of one place do not matter.
inline bool has_aligned_vectors(const RealTensor& x, int along, int bytes) {
  const int elem = bytes_of(x.type);
  if (reinterpret_cast<std::uintptr_t>(x.data) % static_cast<std::uintptr_t>(bytes) != 0) {
    return false;
  }
  for (int axis = 0; axis < 4; ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    if (axis != along && x.shape[i] > 1 && x.strides[i] * elem % bytes != 0) return false;
  }
  return true;
}

// Kernels count pixels, channels and depths in 31 bits; offsets have 64.
inline int count31(std::int64_t count) {
  QSIM_CHECK(count >= 0 && count <= INT32_MAX, "an axis of fewer than 2^31 places");
  return static_cast<int>(count);
}

__device__ inline float load_real(const void* data, RealType type, std::int64_t at) {
  switch (type) {
    case RealType::kFloat32:
      return static_cast<const float*>(data)[at];
    case RealType::kFloat16:
      return __half2float(static_cast<const __half*>(data)[at]);
    default:
      return __bfloat162float(static_cast<const __nv_bfloat16*>(data)[at]);
  }
}

// Rounds to nearest, ties to even.
__device__ inline void store_real(void* data, RealType type, std::int64_t at, float value) {
  switch (type) {
    case RealType::kFloat32:
      static_cast<float*>(data)[at] = value;
      return;
    case RealType::kFloat16:
      static_cast<__half*>(data)[at] = __float2half_rn(value);
      return;
    default:
      static_cast<__nv_bfloat16*>(data)[at] = __float2bfloat16_rn(value);
  }
}

// Two that follow each other, at an even place.
__device__ inline void store_pair(void* data, RealType type, std::int64_t at, float2 value) {
  switch (type) {
    case RealType::kFloat32:
      *reinterpret_cast<float2*>(static_cast<float*>(data) + at) = value;
      return;
    case RealType::kFloat16:
      *reinterpret_cast<__half2*>(static_cast<__half*>(data) + at) = __float22half2_rn(value);
      return;
    default:
      *reinterpret_cast<__nv_bfloat162*>(static_cast<__nv_bfloat16*>(data) + at) =
          __float22bfloat162_rn(value);
  }
}

// The lower half is `low`.
__device__ inline std::uint32_t bfloat16_pair(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const std::uint32_t*>(&pair);
}

// Four that follow each other, at a multiple of four.
__device__ inline void store_quad(void* data, RealType type, std::int64_t at, float4 value) {
  if (type == RealType::kFloat32) {
    *reinterpret_cast<float4*>(static_cast<float*>(data) + at) = value;
    return;
  }
  uint2 words;
  if (type == RealType::kFloat16) {
    const __half2 low = __floats2half2_rn(value.x, value.y);
    const __half2 high = __floats2half2_rn(value.z, value.w);
    words = {*reinterpret_cast<const std::uint32_t*>(&low),
             *reinterpret_cast<const std::uint32_t*>(&high)};
  } else {
    words = {bfloat16_pair(value.x, value.y), bfloat16_pair(value.z, value.w)};
  }
  *reinterpret_cast<uint2*>(static_cast<std::uint16_t*>(data) + at) = words;
}

__device__ inline bool bit_at(const std::uint8_t* bits, std::int64_t index) {
  return (__ldg(bits + index / 8) >> (index % 8) & 1) != 0;
}
// Null: all pass.
__device__ inline bool passes_at(const std::uint8_t* bits, std::int64_t index) {
  return bits == nullptr || bit_at(bits, index);
}

}  // namespace qsim::golden::train::cuda
