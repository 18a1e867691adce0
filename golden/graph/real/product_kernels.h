// The innermost loops of the optimised path, once per instruction set: sums of products in the
// order of docs/reference/golden.md. Every set computes the same bits; vector lanes lie along the
// output channels, so no sum is ever divided between lanes.
#pragma once

#include <cstddef>

#include "golden/common/vector_path.h"

namespace qsim::golden {

// Floats from row to row of gathered inputs: a chunk, and an odd number of cache lines in all, so
// that rows spread over the cache's sets. Known when kernels are compiled: one register addresses
// all rows.
inline constexpr std::size_t kRowPitch = 272;

inline constexpr int kMostPanelWidth = 32;

// Chunk sums of some output pixels (rows) and the output channels of one panel.
struct ChunkOperands {
  const float* rows;      // [row_count][kRowPitch]
  std::size_t row_count;  // any
  const float* weights;   // [products][width of the panel], 64-byte aligned
  std::size_t products;   // at most kChunk
  float* sums;            // [row_count][sums_pitch]
  std::size_t sums_pitch;
};

// The channels of one output pixel of a depthwise convolution.
struct ChannelOperands {
  const float* const* taps;  // by kernel position, the channel 0 of the input pixel
  const float* weights;      // [taps][channels]
  const float* bias;         // [channels]
  std::size_t tap_count;
  std::size_t channels;
  float* out;  // [channels]
};

struct ProductKernels {
  std::size_t lanes;      // output channels of a vector; a panel has one or two vectors
  std::size_t tile_rows;  // rows that share a pass over the weights

  // sums[r][c] += (from +0, fused: sum over k of rows[r][k] * weights[k][c]). `vectors` of the
  // panel: 1 or 2.
  void (*add_chunk)(const ChunkOperands& operands, std::size_t vectors);
  // The same with = in place of +=.
  void (*store_chunk)(const ChunkOperands& operands, std::size_t vectors);
  // out[c] = bias[c] + the chunk sums over the taps; a NaN is the canonical one.
  void (*depthwise)(const ChannelOperands& operands);
};

extern const ProductKernels kPortableProducts;
#if defined(__x86_64__)
extern const ProductKernels kAvx2Products;
extern const ProductKernels kAvx512Products;
#endif

// The kernels of a path: AVX-512 for avx512_vnni, AVX2 with FMA for avx2 and avx_vnni. Throws Error
// when this processor lacks them.
const ProductKernels& product_kernels(VectorPath path);

}  // namespace qsim::golden
