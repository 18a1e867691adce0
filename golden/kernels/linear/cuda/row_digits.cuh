// A row of x as six planes of 8-bit digits in shared memory, for linear_rows.cu.
#pragma once

#include "golden/device/block_barrier.cuh"
#include "golden/kernels/linear/cuda/linear_values.cuh"
#include "golden/kernels/linear/cuda/row_plan.h"

namespace qsim::golden::cuda {

__device__ inline int block_threads() { return static_cast<int>(blockDim.x); }

// What the block's warps tell each other.
struct RowFlags {
  std::uint32_t largest;
  std::uint32_t non_finite;
  std::int32_t digit_sums[kRowDigits];  // of 4 bits without groups: each plane's sum
  // For each table of groups' sums: all threads have written it; a warp has read it.
  BlockBarrier table_full[2];
  BlockBarrier table_empty[2];

  // Called by one thread.
  __device__ void init(int warps) {
    largest = non_finite = 0;
    for (std::int32_t& one : digit_sums) one = 0;
    for (BlockBarrier& one : table_full) one.init(32 * warps);
    for (BlockBarrier& one : table_empty) one.init(32);
  }
};

// Brings the row towards this block; what the kernel before writes there later is not missed.
__device__ inline void prefetch_row(const LinearJob& job, int row) {
  const int size = job.x_type == FloatType::kFloat32 ? 4 : 2;
  const auto* begin =
      static_cast<const std::uint8_t*>(job.x) + std::int64_t{row} * job.in_features * size;
  for (int byte = static_cast<int>(threadIdx.x) * 128; byte < job.in_features * size;
       byte += block_threads() * 128) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(begin + byte));
  }
}

// Two 16-bit numbers as FP32 bits.
__device__ inline void widen(const LinearJob& job, std::uint32_t pair, std::uint32_t* bits) {
  if (job.x_type == FloatType::kBfloat16) {
    bits[0] = pair << 16;
    bits[1] = pair & 0xFFFF0000u;
  } else {
    bits[0] = widen_half(static_cast<std::uint16_t>(pair));
    bits[1] = widen_half(static_cast<std::uint16_t>(pair >> 16));
  }
}

// kCount (4 or 8) elements of the row from `first` on, a multiple of kCount, as FP32 bits; +0
// beyond its end.
template <int kCount>
__device__ inline void load_numbers(const LinearJob& job, int row, int first,
                                    std::uint32_t (&bits)[kCount]) {
  const std::int64_t at = std::int64_t{row} * job.in_features + first;
  if (!job.x_is_aligned || first >= job.in_features) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      bits[i] = first + i < job.in_features ? x_bits(job, at + i) : 0;
    }
  } else if (job.x_type == FloatType::kFloat32) {
    const auto* from = reinterpret_cast<const uint4*>(static_cast<const float*>(job.x) + at);
#pragma unroll
    for (int i = 0; i < kCount / 4; ++i) {
      const uint4 four = from[i];
      bits[4 * i] = four.x;
      bits[4 * i + 1] = four.y;
      bits[4 * i + 2] = four.z;
      bits[4 * i + 3] = four.w;
    }
  } else {
    const auto* from = static_cast<const std::uint16_t*>(job.x) + at;
    uint4 words{};
    if constexpr (kCount == 8) {
      words = *reinterpret_cast<const uint4*>(from);
      widen(job, words.z, bits + 4);
      widen(job, words.w, bits + 6);
    } else {
      const uint2 two = *reinterpret_cast<const uint2*>(from);
      words = make_uint4(two.x, two.y, 0, 0);
    }
    widen(job, words.x, bits);
    widen(job, words.y, bits + 2);
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

// Writes the digits of kCount numbers. With 4 bits (of eight numbers) those of even places come
// first, as the low and high bits of the weights' bytes do.
template <int kBits, int kCount>
__device__ inline void store_digits(const std::int64_t (&fixed)[kCount], std::uint8_t* to,
                                    int plane_bytes) {
  static_assert(kCount == 8 || (kBits == 8 && kCount == 4));
  std::uint32_t quads[2][kRowDigits + 2];
#pragma unroll
  for (int part = 0; part < kCount / 4; ++part) {
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
    std::uint8_t* plane = to + digit * plane_bytes;
    if constexpr (kCount == 8) {
      *reinterpret_cast<uint2*>(plane) = make_uint2(quads[0][digit], quads[1][digit]);
    } else {
      *reinterpret_cast<std::uint32_t*>(plane) = quads[0][digit];
    }
  }
}

// The largest finite magnitude of a row, as FP32 bits; all lanes of the warp return the same.
__device__ inline std::uint32_t largest_of_row(const LinearJob& job, int row, int lane) {
  std::uint32_t largest = 0;
  for (int first = lane * 8; first < job.in_features; first += 32 * 8) {
    std::uint32_t bits[8];
    load_numbers(job, row, first, bits);
#pragma unroll
    for (const std::uint32_t one : bits) {
      if (is_finite(one)) largest = max(largest, one & kFp32Magnitude);
    }
  }
  return __reduce_max_sync(0xFFFFFFFFu, largest);
}

// The largest finite magnitude of the row, in flags.largest after a barrier.
__device__ inline void find_largest(const LinearJob& job, int row, RowFlags& flags) {
  std::uint32_t largest = 0;
  for (int first = static_cast<int>(threadIdx.x) * 8; first < job.in_features;
       first += block_threads() * 8) {
    std::uint32_t bits[8];
    load_numbers(job, row, first, bits);
#pragma unroll
    for (const std::uint32_t one : bits) {
      if (is_finite(one)) largest = max(largest, one & kFp32Magnitude);
    }
  }
  largest = __reduce_max_sync(0xFFFFFFFFu, largest);
  if (threadIdx.x % 32 == 0) atomicMax(&flags.largest, largest);
}

// Writes the planes, and with groups of 4 bits the sum of x in each group: each thread takes kCount
// numbers at a time. Returns whether one of this thread is not finite.
template <int kBits, int kGroup, int kCount>
__device__ inline bool write_planes(const LinearJob& job, const RowPlan& plan, int row,
                                    std::uint8_t* shared, double steps) {
  bool non_finite = false;
  for (int base = 0; base < plan.padded_features; base += block_threads() * kCount) {
    const int first = base + static_cast<int>(threadIdx.x) * kCount;
    std::uint32_t bits[kCount];
    load_numbers(job, row, first, bits);
    std::int64_t fixed[kCount];
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
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
      for (int step = 1; step < kGroup / kCount; step *= 2) {
        sum += __shfl_xor_sync(0xFFFFFFFFu, sum, step);
      }
      if (first < job.in_features && first % kGroup == 0) {
        reinterpret_cast<std::int64_t*>(shared + plan.sums_at)[first / kGroup] = sum;
      }
    }
  }
  return non_finite;
}

// Makes the row's digits. All threads call it; they see everything after its last barrier. Returns
// the exponent of the row's step.
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
  // A short row is done sooner by more threads.
  if (kBits == 8 && plan.padded_features <= 4 * block_threads()) {
    non_finite = write_planes < kBits, kGroup, kBits == 8 ? 4 : 8 > (job, plan, row, shared, steps);
  } else {
    non_finite = write_planes<kBits, kGroup, 8>(job, plan, row, shared, steps);
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
