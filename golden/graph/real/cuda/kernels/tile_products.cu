// Sums of products in tiles of 128 pixels and 64 output channels of one group: a block of 128
// threads, 8 x 8 sums each, whose operands pass through shared memory, eight products at a time.
#include "golden/graph/real/cuda/kernels/float_arithmetic.cuh"

namespace qsim::golden::cuda {
namespace {

constexpr int kTileThreads = 128;
constexpr int kTilePixels = 128;
constexpr int kTileDepth = 8;
static_assert(kChunkProducts % kTileDepth == 0);
constexpr int kSide = 8;  // of a thread's square of sums

// The operands of one step, a product a row.
struct Operands {
  float x[kTileDepth][kTilePixels];
  float weights[kTileDepth][kTileOutputs];
};

// What a thread carries of the next step: the products of one pixel, and four weights.
struct Fetched {
  float x[kTileDepth];
  float4 weights;
};

// One block's part of the layer.
struct Tile {
  std::int64_t group;
  std::int64_t first_pixel;
  std::int64_t first_output;  // of the group
};

__device__ inline Tile tile_of(const Products& p) {
  const std::int64_t columns = (p.outputs + kTileOutputs - 1) / kTileOutputs;
  const std::int64_t groups = p.out.channels / p.outputs;
  const std::int64_t block = blockIdx.x;
  const std::int64_t column = block % columns;
  const std::int64_t rest = block / columns;
  return {rest % groups, rest / groups * kTilePixels, column * kTileOutputs};
}

// Elements [k, k + 8) of a pixel's products; kFours of a time are neighbours in memory.
template <bool kFours>
__device__ inline void fetch_x(const Products& p, const Corner& corner, bool is_pixel,
                               std::int64_t k, float (&x)[kTileDepth]) {
  constexpr int kStep = kFours ? 4 : 1;
#pragma unroll
  for (int j = 0; j < kTileDepth; j += kStep) {
#pragma unroll
    for (int i = 0; i < kStep; ++i) x[j + i] = 0;
    if (!is_pixel || k + j >= p.depth) continue;
    const ProductTap tap = p.taps[k + j];
    if (!is_inside(p, corner, tap)) continue;
    const float* from = p.input + corner.element + tap.offset;
    if constexpr (kFours) {
      const float4 four = *reinterpret_cast<const float4*>(from);
      x[j] = four.x;
      x[j + 1] = four.y;
      x[j + 2] = four.z;
      x[j + 3] = four.w;
    } else {
      x[j] = *from;
    }
  }
}

__device__ inline float4 fetch_weights(const Products& p, const Tile& tile, std::int64_t k) {
  constexpr int kFoursARow = kTileOutputs / 4;
  const std::int64_t columns = (p.outputs + kTileOutputs - 1) / kTileOutputs;
  const std::int64_t row = k + static_cast<int>(threadIdx.x) / kFoursARow;
  if (row >= p.depth) return make_float4(0, 0, 0, 0);
  const float* from = p.weights + (tile.group * p.depth + row) * columns * kTileOutputs +
                      tile.first_output + static_cast<int>(threadIdx.x) % kFoursARow * 4;
  return *reinterpret_cast<const float4*>(from);
}

__device__ inline void put(const Fetched& fetched, Operands& to) {
  constexpr int kFoursARow = kTileOutputs / 4;
#pragma unroll
  for (int j = 0; j < kTileDepth; ++j) to.x[j][threadIdx.x] = fetched.x[j];
  const int row = static_cast<int>(threadIdx.x) / kFoursARow;
  const int column = static_cast<int>(threadIdx.x) % kFoursARow * 4;
  *reinterpret_cast<float4*>(&to.weights[row][column]) = fetched.weights;
}

// The pixel (output) of a thread's row (column) in the tile: two runs of four neighbours.
__device__ inline int tile_pixel(int i) {
  return i / 4 * (kTilePixels / 2) + static_cast<int>(threadIdx.x) / 8 * 4 + i % 4;
}
__device__ inline int tile_output(int j) {
  return j / 4 * (kTileOutputs / 2) + static_cast<int>(threadIdx.x) % 8 * 4 + j % 4;
}

// Product k of the step, added to every sum.
__device__ inline void multiply(const Operands& from, int k, float (&sums)[kSide][kSide]) {
  float x[kSide];
  float w[kSide];
#pragma unroll
  for (int i = 0; i < kSide; i += 4) {
    *reinterpret_cast<float4*>(&x[i]) = *reinterpret_cast<const float4*>(&from.x[k][tile_pixel(i)]);
    *reinterpret_cast<float4*>(&w[i]) =
        *reinterpret_cast<const float4*>(&from.weights[k][tile_output(i)]);
  }
#pragma unroll
  for (int i = 0; i < kSide; ++i) {
#pragma unroll
    for (int j = 0; j < kSide; ++j) sums[i][j] = __fmaf_rn(x[i], w[j], sums[i][j]);
  }
}

// The end of a chunk.
__device__ inline void close(float (&sums)[kSide][kSide], float (&totals)[kSide][kSide]) {
#pragma unroll
  for (int i = 0; i < kSide; ++i) {
#pragma unroll
    for (int j = 0; j < kSide; ++j) {
      totals[i][j] = __fadd_rn(totals[i][j], sums[i][j]);
      sums[i][j] = 0;
    }
  }
}

__device__ inline void store(const Products& p, const Tile& tile,
                             const float (&totals)[kSide][kSide]) {
  const std::int64_t pixels = p.out.batch * p.out.height * p.out.width;
  const bool fours = p.outputs % 4 == 0 && p.out.channels % 4 == 0;
#pragma unroll
  for (int i = 0; i < kSide; ++i) {
    const std::int64_t pixel = tile.first_pixel + tile_pixel(i);
    if (pixel >= pixels) continue;
#pragma unroll
    for (int j = 0; j < kSide; j += 4) {
      const std::int64_t output = tile.first_output + tile_output(j);
      const std::int64_t channel = tile.group * p.outputs + output;
      float* to = p.output + pixel * p.out.channels + channel;
      if (fours && output < p.outputs) {
        *reinterpret_cast<float4*>(to) = make_float4(
            finished(p, channel, totals[i][j]), finished(p, channel + 1, totals[i][j + 1]),
            finished(p, channel + 2, totals[i][j + 2]), finished(p, channel + 3, totals[i][j + 3]));
        continue;
      }
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        if (output + c < p.outputs) to[c] = finished(p, channel + c, totals[i][j + c]);
      }
    }
  }
}

template <bool kFours>
__global__ void __launch_bounds__(kTileThreads)
    tile_products_kernel(const __grid_constant__ Products p) {
  __shared__ alignas(16) Operands operands[2];
  begin_kernel();
  const Tile tile = tile_of(p);
  const std::int64_t own = tile.first_pixel + threadIdx.x;
  const bool is_pixel = own < p.out.batch * p.out.height * p.out.width;
  const Corner corner = corner_of(p, is_pixel ? own : 0, tile.group);
  float sums[kSide][kSide] = {};
  float totals[kSide][kSide];
#pragma unroll
  for (int j = 0; j < kSide; ++j) {
    const std::int64_t output = tile.first_output + tile_output(j);
    const float first = output < p.outputs ? start(p, tile.group * p.outputs + output) : 0.0F;
#pragma unroll
    for (int i = 0; i < kSide; ++i) totals[i][j] = first;
  }
  Fetched fetched;
  fetch_x<kFours>(p, corner, is_pixel, 0, fetched.x);
  fetched.weights = fetch_weights(p, tile, 0);
  put(fetched, operands[0]);
  __syncthreads();
  int now = 0;
  for (std::int64_t k = 0; k < p.depth; k += kTileDepth) {
    const bool has_next = k + kTileDepth < p.depth;
    if (has_next) {
      fetch_x<kFours>(p, corner, is_pixel, k + kTileDepth, fetched.x);
      fetched.weights = fetch_weights(p, tile, k + kTileDepth);
    }
    if (k + kTileDepth <= p.depth) {
#pragma unroll
      for (int j = 0; j < kTileDepth; ++j) multiply(operands[now], j, sums);
    } else {  // a product more of +0 would make -0 a +0
      for (int j = 0; k + j < p.depth; ++j) multiply(operands[now], j, sums);
    }
    if (!has_next || (k + kTileDepth) % kChunkProducts == 0) close(sums, totals);
    if (has_next) put(fetched, operands[now ^ 1]);
    __syncthreads();
    now ^= 1;
  }
  store(p, tile, totals);
}

}  // namespace

void launch_tile_products(const Products& p, cudaStream_t stream) {
  const std::int64_t pixels = p.out.batch * p.out.height * p.out.width;
  const std::int64_t blocks = (pixels + kTilePixels - 1) / kTilePixels *
                              (p.out.channels / p.outputs) *
                              ((p.outputs + kTileOutputs - 1) / kTileOutputs);
  const bool fours = p.channels % 4 == 0 && p.in.channels % 4 == 0;
  launch_kernel("launching tile_products",
                fours ? tile_products_kernel<true> : tile_products_kernel<false>, blocks,
                kTileThreads, 0, stream, p);
}

}  // namespace qsim::golden::cuda
