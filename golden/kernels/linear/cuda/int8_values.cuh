// What the kernels of linear layers with int8 activations share: the codes of x, and the end of
// the definition.
#pragma once

#include "golden/device/launch.cuh"
#include "golden/kernels/convert/scale_rule.h"
#include "golden/kernels/linear/cuda/int8_kernels.h"
#include "golden/kernels/linear/cuda/linear_values.cuh"

namespace qsim::golden::cuda {

// Eight numbers of x as FP32 bits.
struct EightNumbers {
  std::uint32_t bits[8];
};

// Eight numbers of x from number `first` of its row on, a multiple of 8; 0 beyond the row's end.
__device__ inline EightNumbers load_eight(const Int8Job& job, std::int64_t row, int first) {
  EightNumbers result{};
  const std::int64_t index = row * job.in_features + first;
  if (job.x_is_aligned) {
    if (job.x_type == FloatType::kFloat32) {
      const auto* from = reinterpret_cast<const uint4*>(static_cast<const float*>(job.x) + index);
      *reinterpret_cast<uint4*>(result.bits) = from[0];
      *reinterpret_cast<uint4*>(result.bits + 4) = from[1];
      return result;
    }
    const uint4 words =
        *reinterpret_cast<const uint4*>(static_cast<const std::uint16_t*>(job.x) + index);
    const std::uint32_t pairs[4] = {words.x, words.y, words.z, words.w};
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const auto code = static_cast<std::uint16_t>(pairs[i / 2] >> (16 * (i % 2)));
      result.bits[i] = job.x_type == FloatType::kFloat16 ? widen_half(code)
                                                         : static_cast<std::uint32_t>(code) << 16;
    }
    return result;
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    if (first + i >= job.in_features) break;
    if (job.x_type == FloatType::kFloat32) {
      result.bits[i] = static_cast<const std::uint32_t*>(job.x)[index + i];
    } else {
      const std::uint16_t code = static_cast<const std::uint16_t*>(job.x)[index + i];
      result.bits[i] = job.x_type == FloatType::kFloat16 ? widen_half(code)
                                                         : static_cast<std::uint32_t>(code) << 16;
    }
  }
  return result;
}

// The scale of a row and what divides by it.
class RowScale {
 public:
  __device__ RowScale(const Int8Job& job, std::uint32_t largest)
      : scale_(job.static_scale != 0 ? job.static_scale : row_scale(largest)),
        reciprocal_(quotient(1.0F, scale_)),
        divides_(job.x_type == FloatType::kFloat32 || scale_ < kLeastDivisor ||
                 scale_ > 1 / kLeastDivisor) {}

  __device__ float scale() const { return scale_; }

  // activation_code(): a quotient that is not below 2^60 saturates, or is a NaN.
  __device__ int code(std::uint32_t bits) const {
    const float x = float_of(bits);
    float result = __fmul_rn(x, reciprocal_);
    if (divides_) {
      result = quotient(x, scale_);
    } else if (fabsf(result) < 0x1p60F) {
      result = quotient_by_reciprocal(x, scale_, reciprocal_);
    }
    return max(-127, min(127, __float2int_rn(result)));
  }

 private:
  float scale_;
  float reciprocal_;
  bool divides_;
};

// The largest finite magnitude of the block's part of a row, by each thread.
__device__ inline std::uint32_t largest_of_thread(const Int8Job& job, std::int64_t row) {
  std::uint32_t largest = 0;
  for (int k = 8 * static_cast<int>(threadIdx.x); k < job.in_features;
       k += 8 * static_cast<int>(blockDim.x)) {
    const EightNumbers numbers = load_eight(job, row, k);
#pragma unroll
    for (const std::uint32_t bits : numbers.bits) {
      if (is_finite(bits)) largest = max(largest, bits & kFp32Magnitude);
    }
  }
  return largest;
}

// The largest over the block; `slot` is shared memory that holds 0. Ends with a barrier.
__device__ inline std::uint32_t largest_of_block(std::uint32_t mine, std::uint32_t* slot) {
  mine = __reduce_max_sync(0xFFFFFFFFu, mine);
  if (threadIdx.x % 32 == 0) atomicMax(slot, mine);
  __syncthreads();
  return *slot;
}

// The codes of a row, zeros after in_features, to `codes` (global or shared), which is aligned to
// 8 bytes.
__device__ inline void store_codes(const Int8Job& job, std::int64_t row, const RowScale& scale,
                                   std::int8_t* codes) {
  for (int k = 8 * static_cast<int>(threadIdx.x); k < job.code_stride;
       k += 8 * static_cast<int>(blockDim.x)) {
    std::uint32_t words[2] = {};
    if (k < job.in_features) {
      const EightNumbers numbers = load_eight(job, row, k);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const auto byte = static_cast<std::uint32_t>(scale.code(numbers.bits[i])) & 0xFF;
        words[i / 4] |= byte << (8 * (i % 4));
      }
    }
    *reinterpret_cast<uint2*>(codes + k) = make_uint2(words[0], words[1]);
  }
}

// A number as FP16 or BF16, to nearest, ties to even; each NaN is the canonical one.
__device__ inline std::uint16_t half_code(FloatType type, float value) {
  std::uint16_t code;
  if (type == FloatType::kFloat16) {
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(code) : "f"(value));
    return value == value ? code : static_cast<std::uint16_t>(kFp16.nan);
  }
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(code) : "f"(value));
  return value == value ? code : static_cast<std::uint16_t>(kBf16.nan);
}

// Scales, bias and type of an exact sum. Without a bias `bias` does not matter.
__device__ inline void store_scaled(const Int8Job& job, std::int64_t row, int channel,
                                    std::int32_t sum, float weight_scale, float row_scale,
                                    float bias) {
  float result = scaled_sum(sum, weight_scale, row_scale);
  if (job.bias != nullptr) result = __fadd_rn(result, bias);
  const std::int64_t index = row * job.out_features + channel;
  if (job.y_type == FloatType::kFloat32) {
    static_cast<std::uint32_t*>(job.y)[index] = canonical(result);
  } else {
    static_cast<std::uint16_t*>(job.y)[index] = half_code(job.y_type, result);
  }
}

__device__ inline void store_sum(const Int8Job& job, std::int64_t row, int channel,
                                 std::int32_t sum, float row_scale) {
  store_scaled(job, row, channel, sum, __ldg(job.weight_scales + channel), row_scale,
               job.bias == nullptr ? 0 : __ldg(job.bias + channel));
}

}  // namespace qsim::golden::cuda
