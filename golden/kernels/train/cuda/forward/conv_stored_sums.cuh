// What the finishes have in common that take a warpgroup's sums as they come from the tensor cores:
// a thread has rows first_row() and first_row() + 8, and of each 8 columns two neighbours.
#pragma once

#include "golden/kernels/train/cuda/forward/conv_boxes.cuh"
#include "golden/kernels/train/cuda/forward/conv_finish_real.cuh"

namespace qsim::golden::train::cuda {

__device__ inline int first_row() {
  return static_cast<int>(threadIdx.x) % 128 / 32 * 16 + static_cast<int>(threadIdx.x) % 32 / 4;
}

// real_channel() of a block's columns.
template <int kColumns>
struct StoredColumns {
  float factors[kColumns];
  float biases[kColumns];

  // Called by the threads of a warpgroup.
  __device__ void load(const ConvSizes& conv, const RealFinishArgs& args, int first_column) {
    const int column = static_cast<int>(threadIdx.x) % 128;
    if (column >= kColumns) return;
    const int channel = first_column + column;
    const float2 values = channel < conv.columns ? real_channel(args, channel) : make_float2(0, 0);
    factors[column] = values.x;
    biases[column] = values.y;
  }
  // For two neighbouring columns.
  __device__ float2 factors_of(int column) const {
    return *reinterpret_cast<const float2*>(factors + column);
  }
  __device__ float2 biases_of(int column) const {
    return *reinterpret_cast<const float2*>(biases + column);
  }
};

// Real numbers of two neighbours, and their bits at `at` in `word`.
template <bool kHasBits>
__device__ float2 finish_pair(const RealFinishArgs& args, std::int32_t a, std::int32_t b,
                              const float2& factors, const float2& biases, int at,
                              std::uint32_t& word) {
  bool passes[2];
  const float2 values = make_float2(finish_real(args, a, factors.x, biases.x, passes[0]),
                                    finish_real(args, b, factors.y, biases.y, passes[1]));
  if constexpr (kHasBits) {
    word |= (passes[0] ? 1U : 0U) << at;
    word |= (passes[1] ? 2U : 0U) << at;
  }
  return values;
}

// Stores the bits of a piece as words: four lanes have those of two rows times two words, of which
// each gathers and writes one.
__device__ inline void store_pass_words(const BoxConv& plan, const ConvSizes& conv,
                                        std::uint8_t* passes, int unit, int first_column,
                                        const std::uint32_t (&bits)[2][2]) {
  const int h = static_cast<int>(threadIdx.x) % 2;
  const int w = static_cast<int>(threadIdx.x) / 2 % 2;
  std::uint32_t words[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const std::uint32_t others = __shfl_xor_sync(0xFFFFFFFFU, h == 0 ? bits[1][i] : bits[0][i], 1);
    words[i] = (h == 0 ? bits[0][i] : bits[1][i]) | others;
  }
  const std::uint32_t others = __shfl_xor_sync(0xFFFFFFFFU, w == 0 ? words[1] : words[0], 2);
  const std::uint32_t word = (w == 0 ? words[0] : words[1]) | others;
  const int pixel = BoxUnit(plan, unit).pixel(plan, conv, unit, first_row() + 8 * h);
  const int column = first_column + 32 * w;
  if (pixel < 0 || column >= conv.columns) return;
  const std::int64_t first = std::int64_t{pixel} * conv.all_columns + column;
  *reinterpret_cast<std::uint32_t*>(passes + first / 8) = word;
}

}  // namespace qsim::golden::train::cuda
