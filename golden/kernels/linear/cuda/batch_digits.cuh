// A slice of several rows of x as digits in shared memory, for linear_batch.cu.
#pragma once

#include "golden/kernels/linear/cuda/batch_plan.h"
#include "golden/kernels/linear/cuda/row_digits.cuh"

namespace qsim::golden::cuda {

// What the block's warps tell each other; zero before the first use.
struct BatchFlags {
  std::int32_t exponents[16];  // of each row's step
  std::uint32_t non_finite;    // bit m: row m has such an x
  // Digits 4 (low byte) and 5 (next byte) of a slice that are not 0, in turn for three slices: one
  // that is multiplied, one that is converted, and one that is cleared.
  std::uint32_t high_digits[3];
};

// The rows of x that a block has.
struct BatchRows {
  int first, count;
};

// Each thread has the same eight input features of a slice, for one or two rows.
template <int kBits, int kXRows>
class BatchDigits {
 public:
  static constexpr int kUnits = row_slice(kBits) / 8;  // of a row
  static constexpr int kItems = (kXRows * kUnits + kBatchThreads - 1) / kBatchThreads;

  __device__ BatchDigits(const LinearJob& job, const BatchPlan& plan, const BatchRows& rows,
                         std::uint8_t* shared, BatchFlags& flags)
      : job_(job), plan_(plan), rows_(rows), shared_(shared), flags_(flags) {}

  // The exponents of the rows. All threads call it and see them.
  __device__ void find_exponents() const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    for (int m = static_cast<int>(threadIdx.x) / 32; m < kXRows; m += kBatchWarps) {
      const std::uint32_t largest = job_.x_type != FloatType::kFloat16 && m < rows_.count
                                        ? largest_of_row(job_, rows_.first + m, lane)
                                        : 0;
      if (lane == 0) flags_.exponents[m] = step_exponent(job_.x_type, largest);
    }
    __syncthreads();
  }

  // Reads this thread's part of a slice.
  __device__ void load(int slice) {
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      const Item item(i);
      if (item.row < rows_.count) {
        load_numbers(job_, rows_.first + item.row, slice * row_slice(kBits) + item.unit * 8,
                     bits_[i]);
      } else {
#pragma unroll
        for (std::uint32_t& one : bits_[i]) one = 0;
      }
    }
  }

  // Writes what load() read as the digits of `slice`.
  __device__ void store(int slice) {
    std::uint32_t high = 0;
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      const Item item(i);
      if (item.row >= kXRows) continue;
      const double steps = steps_of_one(flags_.exponents[item.row]);
      std::int64_t fixed[8];
      bool non_finite = false;
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        const bool finite = is_finite(bits_[i][j]);
        non_finite |= !finite;
        fixed[j] = fixed_of(finite ? bits_[i][j] : 0, steps);
        high |= high_digits(fixed[j]);
      }
      if (non_finite) atomicOr(&flags_.non_finite, 1u << item.row);
      store_digits<kBits>(fixed,
                          shared_ + plan_.digits_at + slice % 2 * plan_.digit_bytes +
                              item.row * batch_plane_bytes(kBits) + item.unit * 8,
                          kXRows * batch_plane_bytes(kBits));
    }
    high = __reduce_or_sync(0xFFFFFFFFu, high);
    if (threadIdx.x % 32 == 0 && high != 0) atomicOr(&flags_.high_digits[slice % 3], high);
    if (threadIdx.x == 0) flags_.high_digits[(slice + 1) % 3] = 0;
  }

 private:
  struct Item {
    int row, unit;
    __device__ explicit Item(int i) {
      const int number = static_cast<int>(threadIdx.x) + i * kBatchThreads;
      row = number / kUnits;
      unit = number % kUnits;
    }
  };

  const LinearJob& job_;
  const BatchPlan& plan_;
  const BatchRows& rows_;
  std::uint8_t* shared_;
  BatchFlags& flags_;
  std::uint32_t bits_[kItems][8];
};

}  // namespace qsim::golden::cuda
