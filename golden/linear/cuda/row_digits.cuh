// A row of x as six planes of 8-bit digits in shared memory, for linear_rows.cu.
#pragma once

#include "golden/linear/cuda/linear_values.cuh"
#include "golden/linear/cuda/row_plan.h"

namespace qsim::golden::cuda {

// Waits for the warps that multiply.
__device__ inline void consumers_sync() {
  asm volatile("bar.sync 1, %0;" ::"n"(kRowConsumers) : "memory");
}

// What the block's warps tell each other; zero before the first use.
struct RowFlags {
  std::uint32_t largest;
  std::uint32_t non_finite;
  std::int32_t digit_sums[kRowDigits];  // of 4 bits without groups: each plane's sum
};

// Elements first .. first + 7 of the row; +0 beyond its end.
__device__ inline void load_eight(const LinearJob& job, int row, int first,
                                  std::uint32_t (&bits)[8]) {
  const std::int64_t at = std::int64_t{row} * job.in_features + first;
#pragma unroll
  for (int i = 0; i < 8; ++i) bits[i] = first + i < job.in_features ? x_bits(job, at + i) : 0;
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

// Writes the digits of eight numbers. With 4 bits those of even places come first, as the low and
// high bits of the weights' bytes do.
template <int kBits>
__device__ inline void store_digits(const std::int64_t (&fixed)[8], std::uint8_t* to,
                                    int plane_bytes) {
  // Adding 128 to each digit makes them the bytes of the sum; the exclusive or takes 128 off again.
  constexpr std::uint64_t kHalves = 0x808080808080;
  std::uint32_t quads[2][kRowDigits + 2];
#pragma unroll
  for (int part = 0; part < 2; ++part) {
    std::uint32_t low[4];
    std::uint32_t high[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int place = kBits == 8 ? 4 * part + i : 2 * i + part;
      const std::uint64_t bytes = (static_cast<std::uint64_t>(fixed[place]) + kHalves) ^ kHalves;
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
       first += kRowConsumers * 8) {
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

// Writes the planes, and with groups of 4 bits the sum of x in each group. All consumers call it;
// they see everything after its last barrier. Returns the exponent of the row's step.
template <int kBits, int kGroup>
__device__ inline int prepare_row(const LinearJob& job, const RowPlan& plan, int row,
                                  std::uint8_t* shared, RowFlags& flags) {
  if (job.x_type != FloatType::kFloat16) {
    find_largest(job, row, flags);
    consumers_sync();
  }
  const int exponent = step_exponent(job.x_type, flags.largest);
  const double steps = steps_of_one(exponent);
  bool non_finite = false;
  for (int base = 0; base < plan.padded_features; base += kRowConsumers * 8) {
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
  consumers_sync();
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
    consumers_sync();
  }
  return exponent;
}

}  // namespace qsim::golden::cuda
