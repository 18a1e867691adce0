// A row of x as six planes of 8-bit digits in shared memory, for linear_rows.cu.
#pragma once

#include "golden/linear/cuda/linear_values.cuh"
#include "golden/linear/cuda/row_plan.h"

namespace qsim::golden::cuda {

// What the block's warps tell each other; zero before the first use.
struct RowFlags {
  std::uint32_t largest;
  std::uint32_t non_finite;
  std::int32_t digit_sums[kRowDigits];  // of 4 bits without groups: each plane's sum
};

// Brings the row towards this block; what the kernel before writes there later is not missed.
__device__ inline void prefetch_row(const LinearJob& job, int row) {
  const int size = job.x_type == FloatType::kFloat32 ? 4 : 2;
  const auto* begin =
      static_cast<const std::uint8_t*>(job.x) + std::int64_t{row} * job.in_features * size;
  for (int byte = static_cast<int>(threadIdx.x) * 128; byte < job.in_features * size;
       byte += kRowThreads * 128) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(begin + byte));
  }
}

// Eight 16-bit numbers as FP32 bits.
__device__ inline void widen(const LinearJob& job, const uint4& words, std::uint32_t (&bits)[8]) {
  const std::uint32_t pairs[4] = {words.x, words.y, words.z, words.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (job.x_type == FloatType::kBfloat16) {
      bits[2 * i] = pairs[i] << 16;
      bits[2 * i + 1] = pairs[i] & 0xFFFF0000u;
    } else {
      bits[2 * i] = widen_half(static_cast<std::uint16_t>(pairs[i]));
      bits[2 * i + 1] = widen_half(static_cast<std::uint16_t>(pairs[i] >> 16));
    }
  }
}

// Elements first .. first + 7 of the row as FP32 bits; +0 beyond its end.
__device__ inline void load_eight(const LinearJob& job, int row, int first,
                                  std::uint32_t (&bits)[8]) {
  const std::int64_t at = std::int64_t{row} * job.in_features + first;
  if (!job.x_is_aligned || first >= job.in_features) {
#pragma unroll
    for (int i = 0; i < 8; ++i) bits[i] = first + i < job.in_features ? x_bits(job, at + i) : 0;
  } else if (job.x_type == FloatType::kFloat32) {
    const auto* from = reinterpret_cast<const uint4*>(static_cast<const float*>(job.x) + at);
    const uint4 low = from[0];
    const uint4 high = from[1];
    bits[0] = low.x;
    bits[1] = low.y;
    bits[2] = low.z;
    bits[3] = low.w;
    bits[4] = high.x;
    bits[5] = high.y;
    bits[6] = high.z;
    bits[7] = high.w;
  } else {
    const auto* from = static_cast<const std::uint16_t*>(job.x) + at;
    widen(job, *reinterpret_cast<const uint4*>(from), bits);
  }
}

// Digits i of four numbers, from the words that have digits 0 to 3 (or 4 and 5) of each.
__device__ inline void transpose_digits(const std::uint32_t (&words)[4],
                                        std::uint32_t (&digits)[4]) {
  const std::uint32_t low_a = __byte_perm(words[0], words[1], 0x5140);
  const std::uint32_t low_b = __byte_perm(words[2], words[3], 0x5140);
  const std::uint32_t high_a = __byte_perm(words[0], words[1], 0x7362);
  const std::uint32_t high_b = __byte_perm(words[2], words[3], 0x7362);
  digits[0] = __byte_perm(low_a, low_b, 0x5410);
  digits[1] = __byte_perm(low_a, low_b, 0x7632);
  digits[2] = __byte_perm(high_a, high_b, 0x5410);
  digits[3] = __byte_perm(high_a, high_b, 0x7632);
}

// Adding 128 to each digit makes them the bytes of the sum; the exclusive or takes 128 off again.
__device__ inline std::uint64_t digit_bytes(std::int64_t fixed) {
  constexpr std::uint64_t kHalves = 0x808080808080;
  return (static_cast<std::uint64_t>(fixed) + kHalves) ^ kHalves;
}

// Digits 4 and 5.
__device__ inline std::uint32_t high_digits(std::int64_t fixed) {
  return static_cast<std::uint32_t>(digit_bytes(fixed) >> 32) & 0xFFFF;
}

// Writes the digits of eight numbers. With 4 bits those of even places come first, as the low and
// high bits of the weights' bytes do.
template <int kBits>
__device__ inline void store_digits(const std::int64_t (&fixed)[8], std::uint8_t* to,
                                    int plane_bytes) {
  std::uint32_t quads[2][kRowDigits + 2];
#pragma unroll
  for (int part = 0; part < 2; ++part) {
    std::uint32_t low[4];
    std::uint32_t high[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int place = kBits == 8 ? 4 * part + i : 2 * i + part;
      const std::uint64_t bytes = digit_bytes(fixed[place]);
      low[i] = static_cast<std::uint32_t>(bytes);
      high[i] = static_cast<std::uint32_t>(bytes >> 32);
    }
    std::uint32_t digits[4];
    transpose_digits(low, digits);
#pragma unroll
    for (int i = 0; i < 4; ++i) quads[part][i] = digits[i];
    transpose_digits(high, digits);
    quads[part][4] = digits[0];
    quads[part][5] = digits[1];
  }
#pragma unroll
  for (int digit = 0; digit < kRowDigits; ++digit) {
    *reinterpret_cast<uint2*>(to + digit * plane_bytes) =
        make_uint2(quads[0][digit], quads[1][digit]);
  }
}

// The largest finite magnitude of the row, in flags.largest after a barrier.
__device__ inline void find_largest(const LinearJob& job, int row, RowFlags& flags) {
  std::uint32_t largest = 0;
  for (int first = static_cast<int>(threadIdx.x) * 8; first < job.in_features;
       first += kRowThreads * 8) {
    std::uint32_t bits[8];
    load_eight(job, row, first, bits);
#pragma unroll
    for (const std::uint32_t one : bits) {
      if (is_finite(one)) largest = max(largest, one & kFp32Magnitude);
    }
  }
  largest = __reduce_max_sync(0xFFFFFFFFu, largest);
  if (threadIdx.x % 32 == 0) atomicMax(&flags.largest, largest);
}

// Writes the planes, and with groups of 4 bits the sum of x in each group. All threads call it;
// they see everything after its last barrier. Returns the exponent of the row's step.
template <int kBits, int kGroup>
__device__ inline int prepare_row(const LinearJob& job, const RowPlan& plan, int row,
                                  std::uint8_t* shared, RowFlags& flags) {
  if (job.x_type != FloatType::kFloat16) {
    find_largest(job, row, flags);
    __syncthreads();
  }
  const int exponent = step_exponent(job.x_type, flags.largest);
  const double steps = steps_of_one(exponent);
  bool non_finite = false;
  for (int base = 0; base < plan.padded_features; base += kRowThreads * 8) {
    const int first = base + static_cast<int>(threadIdx.x) * 8;
    std::uint32_t bits[8];
    load_eight(job, row, first, bits);
    std::int64_t fixed[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const bool finite = is_finite(bits[i]);
      non_finite |= !finite;
      fixed[i] = fixed_of(finite ? bits[i] : 0, steps);
    }
    if (first < plan.padded_features) {
      store_digits<kBits>(fixed, shared + plan.digits_at + first, plan.plane_bytes);
    }
    if constexpr (kBits == 4 && kGroup != 0) {
      std::int64_t sum = 0;
#pragma unroll
      for (const std::int64_t one : fixed) sum += one;
#pragma unroll
      for (int step = 1; step < kGroup / 8; step *= 2) {
        sum += __shfl_xor_sync(0xFFFFFFFFu, sum, step);
      }
      if (first < job.in_features && first % kGroup == 0) {
        reinterpret_cast<std::int64_t*>(shared + plan.sums_at)[first / kGroup] = sum;
      }
    }
  }
  if (non_finite) flags.non_finite = 1;
  __syncthreads();
  if constexpr (kBits == 4 && kGroup == 0) {
    const int plane = static_cast<int>(threadIdx.x) / 32;
    if (plane < kRowDigits) {
      std::int32_t sum = 0;
      for (int k = static_cast<int>(threadIdx.x) % 32 * 4; k < plan.padded_features; k += 128) {
        const auto word = *reinterpret_cast<const std::int32_t*>(shared + plan.digits_at +
                                                                 plane * plan.plane_bytes + k);
        sum = __dp4a(word, 0x01010101, sum);
      }
      sum = static_cast<std::int32_t>(
          __reduce_add_sync(0xFFFFFFFFu, static_cast<std::uint32_t>(sum)));
      if (threadIdx.x % 32 == 0) flags.digit_sums[plane] = sum;
    }
    __syncthreads();
  }
  return exponent;
}

}  // namespace qsim::golden::cuda
